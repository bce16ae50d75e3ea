"""Serve the leaderboard on loopback, with a read-only JSON API.

    GET /                    the page
    GET /api/index           the boards
    GET /api/board-SLUG      one board; `sources` lists its details
    GET /api/openapi.json    this API

Responses carry a strict content security policy. Requests whose Host header is not the server's own are refused, so
that no web page can reach the server through a name that it controls.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from steelyard.errors import MissingPart
from steelyard.web.site import ASSETS, POLICY, asset, page

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Load = Callable[[str], Any]
"""Return the data of a name (`index`, `board-SLUG`), None where there is none."""
HEADERS = {
    "Content-Security-Policy": POLICY + "; frame-ancestors 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TYPES = {"css": "text/css", "js": "text/javascript", "html": "text/html"}


def application(load: Load, hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")) -> Starlette:
    """Return the web application; `load` gives it its data."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.gzip import GZipMiddleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise MissingPart.extra("starlette", "web") from error

    def answer(content: str | bytes, media_type: str, status: int = 200) -> Response:
        return Response(content, status, {**HEADERS, "Cache-Control": "no-cache"}, f"{media_type}; charset=utf-8")

    def as_json(content: Any, status: int = 200) -> Response:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return answer(text, "application/json", status)

    async def home(request: Request) -> Response:
        return answer(page(live=True), TYPES["html"])

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            return as_json({"error": "no such asset"}, 404)
        return answer(asset(name), TYPES[name.rpartition(".")[2]])

    def data(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "openapi.json":
            return as_json(OPENAPI)
        content = load(name)
        return as_json({"error": f"no data called {name}"}, 404) if content is None else as_json(content)

    return Starlette(
        routes=[Route("/", home), Route("/assets/{name}", static), Route("/api/{name}", data)],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)), Middleware(GZipMiddleware)],
    )


def serve(
    load: Load, *, host: str = "127.0.0.1", port: int = 0, ready: Callable[[str], None] = lambda url: None
) -> None:
    """Serve until interrupted; `ready` is called with the address once the server listens."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingPart.extra("uvicorn", "web") from error
    import socket

    with socket.create_server((host, port)) as listener:
        actual = listener.getsockname()[1]
        config = uvicorn.Config(application(load), log_level="warning", lifespan="off")
        ready(f"http://{host}:{actual}/")
        uvicorn.Server(config).run(sockets=[listener])


def _path(summary: str, answer: str, **parameters: str) -> dict[str, Any]:
    """Return the description of one address of the API; the parameters have a type each."""
    listed = [{"name": n, "in": "path", "required": True, "schema": {"type": kind}} for n, kind in parameters.items()]
    responses = {"200": {"description": answer}, "404": {"description": "No such data"}}
    return {"get": {"summary": summary, "parameters": listed, "responses": responses}}


OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Steelyard leaderboard", "version": "2", "description": "Read-only. Served on loopback."},
    "paths": {
        "/api/index": _path("List the boards", "Names, titles and sizes"),
        "/api/stamp": _path(
            "Return a text that changes with the results, and the progress of runs", "Text and progress"
        ),
        "/api/board-{slug}": _path(
            "Return one board",
            "Tasks, models, and scores as columns: model, task, score, low, high, flags",
            slug="string",
        ),
        "/api/metrics-{slug}": _path(
            "Return further metrics of a board", "One column for each metric, in the order of the scores", slug="string"
        ),
        "/api/models-{slug}": _path(
            "Return details of the models of a board", "History, training data and settings by position", slug="string"
        ),
        "/api/task-{slug}-{task}": _path(
            "Return the queries of a task, by its position in the board",
            "Scores and ranks by query, texts, ranked lists, findings",
            slug="string",
            task="integer",
        ),
        "/api/pair-{slug}-{model}-{baseline}": _path(
            "Compare two models query by query, by their positions in the board",
            "Differences with intervals and p-values, and the queries that changed most",
            slug="string",
            model="integer",
            baseline="integer",
        ),
    },
}
