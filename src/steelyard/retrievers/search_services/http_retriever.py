"""`http:TEMPLATE`: any search service that returns JSON, searched as it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from steelyard.config import Settings
from steelyard.errors import UsageError
from steelyard.files import with_home
from steelyard.http.secrets import Secrets, check_owner
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.client import SearchClient
from steelyard.retrievers.search_services.http_template import Template
from steelyard.retrievers.search_services.responses import Hits, by_id, query_all, to_run
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick


@dataclass(frozen=True, eq=False)
class HttpIndex:
    """A service that has the corpus already."""

    template: Template
    corpus: Corpus
    secrets: Secrets
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Return 0: nothing is stored here."""
        return 0

    def search(self, queries: Queries, top_k: int) -> Run:
        """Send each query; lists are as long as the service makes them, at most `top_k`."""
        template, k = self.template, min(top_k, self.template.max_k)
        client = open_client(template, self.secrets)

        def query_one(query: int) -> Hits:
            target, body = template.request(queries.texts[query], k, self.secrets)
            answer = client.request(template.method, target, body, template.kind)
            ids = template.ids.find(answer.value)
            scores = template.scores.find(answer.value) if template.scores else None
            return by_id(ids, scores, self.corpus.row_of, seconds=answer.seconds, retries=answer.retries)

        try:
            answers = query_all(len(queries), query_one, template.requests)
            run, notes = to_run(answers, queries, top_k, template.requests)
        finally:
            client.close()
        self.notes.update(notes, asked_for=k)
        return run


@dataclass(frozen=True, eq=False)
class HttpRetriever:
    """A service behind a template. `revision` distinguishes states of its index."""

    name: str
    template: Template
    secrets: Secrets
    revision: str | None = None

    @property
    def settings(self) -> ModelSettings:
        """Return the template without values of variables, and the revision."""
        return {"family": "http", "revision": self.revision, **self.template.settings}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> HttpIndex:
        """Do nothing: the service has its documents."""
        tick(len(corpus))
        return HttpIndex(self.template, corpus, self.secrets)


def from_spec(spec: ModelSpec, settings: Settings) -> HttpRetriever:
    """Return the retriever of `http:FILE@REVISION?OPTIONS`; options replace those in the file."""
    if not spec.id or spec.id.startswith("//"):
        raise UsageError(
            "http: must be followed by a template file, not by an address",
            hint="write http:FILE, with url, body and ids in YAML, TOML or JSON (docs/search-services.md)",
            found=spec.id,
            expected="a template file",
        )
    template = Template.read(with_home(spec.id), spec.options)
    secrets = Secrets(settings, allowed=template.env)
    open_client(template, secrets).close()  # a variable that is not set or not allowed fails before the first query
    return HttpRetriever(result_name(spec), template, secrets, spec.revision)


def open_client(template: Template, secrets: Secrets) -> SearchClient:
    """Return a client for a template, after checking that its secrets may be sent there."""
    for text in (template.url, *template.headers.values(), json.dumps(template.body)):
        secrets.fill(text)
    address = template.host(secrets)
    for name in template.variables:
        check_owner(name, urlsplit(address).hostname or "")
    return SearchClient(
        address,
        headers={name: secrets.fill(value) for name, value in template.headers.items()},
        timeout=template.requests.timeout,
        retries=template.requests.retries,
        secrets=secrets,
        credentials=template.has_credentials,
        allow_http=template.allow_http,
    )
