"""`http:TEMPLATE`: any search service that answers JSON, searched as it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

from steelyard.config import Settings
from steelyard.errors import UsageError
from steelyard.http.secrets import Secrets
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.client import Client
from steelyard.retrievers.search_services.http_template import Template
from steelyard.retrievers.search_services.responses import Hits, ask_all, by_id, to_run
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick


@dataclass(frozen=True, eq=False)
class HttpIndex:
    """A service that holds the corpus already."""

    template: Template
    corpus: Corpus
    secrets: Secrets
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Nothing of it is here."""
        return 0

    def search(self, queries: Queries, top_k: int) -> Run:
        """Ask for each query; lists are as long as the service makes them, at most `top_k`."""
        template, k = self.template, min(top_k, self.template.max_k)
        client = Client(
            template.host(self.secrets),
            headers={name: self.secrets.fill(value) for name, value in template.headers.items()},
            timeout=template.manners.timeout,
            retries=template.manners.retries,
            secrets=self.secrets,
        )

        def ask(query: int) -> Hits:
            target, body = template.request(queries.texts[query], k, self.secrets)
            answer = client.ask(template.method, target, body, template.kind)
            ids = template.ids.find(answer.value)
            scores = template.scores.find(answer.value) if template.scores else None
            return by_id(ids, scores, self.corpus.row_of, seconds=answer.seconds, retries=answer.retries)

        try:
            run, notes = to_run(ask_all(len(queries), ask, template.manners), queries, top_k, template.manners)
        finally:
            client.close()
        self.notes.update(notes, asked_for=k)
        return run


@dataclass(frozen=True, eq=False)
class HttpRetriever:
    """A service behind a template. What it has indexed is its own affair: `revision` tells states of it apart."""

    name: str
    template: Template
    secrets: Secrets
    revision: str | None = None

    @property
    def settings(self) -> ModelSettings:
        """The template, with variables unfilled, and the revision."""
        return {"family": "http", "revision": self.revision, **self.template.settings}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> HttpIndex:
        """Nothing to do: the service has its documents."""
        tick(len(corpus))
        return HttpIndex(self.template, corpus, self.secrets)


def from_spec(spec: ModelSpec, settings: Settings) -> HttpRetriever:
    """The retriever of `http:FILE@REVISION?OPTIONS`; options replace what the file says."""
    if not spec.id or spec.id.startswith("//"):
        raise UsageError(
            "http: wants a template, not an address",
            hint="http:FILE, with url, body and ids in YAML, TOML or JSON: docs/search-services.md",
        )
    template, secrets = Template.read(File(spec.id).expanduser(), spec.options), Secrets(settings)
    for text in (template.url, *template.headers.values(), str(template.body)):
        secrets.fill(text)  # a variable that is missing is missed before the first query
    return HttpRetriever(result_name(spec), template, secrets, spec.revision)
