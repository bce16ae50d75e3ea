# The light core: BM25, the built-in sets, the default encoder, comparison, pages and the static leaderboard.
#   docker build -t steelyard . && docker run --rm -v "$PWD:/work" steelyard run -t NanoAlmanac
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE NOTICE CHANGELOG.md ./
COPY src ./src
RUN pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --no-index --find-links /wheels steelyard \
    && rm -rf /wheels \
    && useradd --create-home --uid 1000 steelyard
USER 1000
WORKDIR /work
ENV STEELYARD_HOME=/home/steelyard/.cache/steelyard
ENTRYPOINT ["steelyard"]
CMD ["--help"]
