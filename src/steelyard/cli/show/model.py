"""`steelyard show model NAME`: the model's card, what of it is on this machine, and what was weighed with it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.stored_results import stored_results
from steelyard.cli._ui.wording import say, short
from steelyard.cli.cache import size
from steelyard.cli.list.models import short_number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from steelyard.cli._ui.output import Output
    from steelyard.config import Settings
    from steelyard.models.availability import Files
    from steelyard.spec import ModelSpec

SHOWN = 20
"""Results that are shown to people; JSON has all."""
LABELS = {
    "model": "model",
    "family": "family",
    "dimension": "dimension",
    "matryoshka": "may be cut to",
    "parameters": "parameters",
    "max_length": "reads tokens",
    "languages": "languages",
    "licence": "licence",
    "similarity": "compared by",
    "prompts": "prompts",
    "remote_code": "needs remote code",
    "source": "facts from",
}


def is_model(name: str) -> bool:
    """Whether a name is that of a model: its family is known, it is a fusion or pipeline, or there is a card of it."""
    from steelyard.models import card
    from steelyard.retrievers import RETRIEVERS

    first = name.partition(">")[0].strip()
    return first.startswith("[") or first.partition(":")[0].partition("?")[0] in RETRIEVERS or card(name) is not None


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print everything that is known of the model; `--load` loads it, to show what it declares of itself."""
    told = _told(arguments, output)
    if output.json:
        output.data(told)
        return 0
    _say_card(told, output)
    _say_machine(told["machine"], output)
    if told["settings"] is not None:
        say(output, "\nsettings:")
        for key, value in told["settings"].items():
            say(output, f"  {key}", short(str(value)))
    else:
        command = f"steelyard show model {shlex.quote(told['model'])} --load"
        output.note(f"\n{command} loads it and shows what it declares of itself")
    _say_results(told["results"], output)
    return 0


def _told(arguments: argparse.Namespace, output: Output) -> dict[str, Any]:
    from steelyard.errors import UnknownName, UsageError
    from steelyard.models import card, cards
    from steelyard.retrievers import canonical

    known = card(arguments.name)
    try:
        spec = canonical(known.name if known else arguments.name)
    except UsageError as error:
        raise UnknownName("model", arguments.name, cards(), hint=error.hint) from error
    _check(spec)
    known = known or card(spec.id or spec.family)
    settings = _settings(spec, arguments.settings) if arguments.load or _is_light(spec) else None
    facts: Mapping[str, Any] = known.facts() if known else _declared(spec)
    return {
        **facts,
        "model": str(spec),
        "family": spec.family,
        "card": known is not None,
        "machine": _machine(spec, arguments.settings),
        "settings": settings,
        "results": _results(spec, arguments, output),
    }


def _declared(spec: ModelSpec) -> dict[str, Any]:
    """What the files of a model without a card say of it, where they are here."""
    from steelyard.encoders.model_folder import ModelFolder
    from steelyard.encoders.model_metadata import declared_facts
    from steelyard.models.availability import MODELS, find_files

    files = find_files(spec.id) if spec.family in MODELS else None
    if files is None or not files.path.is_dir():
        return {}
    facts = declared_facts(ModelFolder(spec.id, files.path), spec.family)
    return facts | {"source": "its own files"} if facts else {}


def _settings(spec: ModelSpec, settings: Settings) -> dict[str, Any]:
    """What the model declares of itself, once it is loaded; a reranker needs no candidates for that."""
    from steelyard.retrievers import load_retriever
    from steelyard.retrievers.rerank.load import load_reranker

    return dict((load_reranker(spec, settings) if spec.family == "rerank" else load_retriever(spec, settings)).settings)


def _check(spec: ModelSpec) -> None:
    """A family that nobody knows is an error that names the nearest."""
    from steelyard.errors import UnknownName
    from steelyard.models import cards
    from steelyard.retrievers import RETRIEVERS

    if spec.parts:
        for part in spec.parts:
            _check(part)
    elif spec.family not in RETRIEVERS:
        raise UnknownName("model", str(spec), [*RETRIEVERS, *cards()], hint="steelyard list models names them")


def _is_light(spec: ModelSpec) -> bool:
    """Whether loading it costs next to nothing and reaches for nothing."""
    from steelyard.models.availability import OWN
    from steelyard.retrievers import RETRIEVERS

    if spec.parts:
        return all(map(_is_light, spec.parts))
    return (spec.id or spec.family) in OWN or (spec.family in RETRIEVERS.plugins)


def _machine(spec: ModelSpec, settings: Settings) -> dict[str, Any]:
    from steelyard.encoders.cache.inventory import inventory
    from steelyard.models.availability import OWN, find_files, is_function, lacking

    if spec.parts:
        parts = [_machine(part, settings) for part in spec.parts]
        return {"installed": all(part["installed"] for part in parts), "parts": parts, "model": str(spec)}
    own, files, function = (spec.id or spec.family) in OWN, find_files(spec.id), is_function(spec.family, spec.id)
    extra = _extra(spec, files)
    names = {spec.id, f"{spec.family}:{spec.id}"} | ({files.path.resolve().name} if files else set())
    kept = [kept for kept in inventory(settings.home) if kept.encoder.partition("?")[0] in names]
    return {
        "model": str(spec),
        "installed": (own or files is not None or _importable(spec.id, function)) and not lacking(extra),
        "needs": extra,
        "lacks": lacking(extra),
        "remedy": f"pip install 'steelyard[{extra}]'" if lacking(extra) else None,
        "comes_with_steelyard": own and extra is None,
        "comes_with_its_package": own and extra is not None,
        "function": function,
        "files": {"path": str(files.path), "hub": files.hub, "bytes": files.bytes} if files else None,
        "stored": [{"name": k.folder.name, "encodings": k.encodings, "bytes": k.bytes} for k in kept],
    }


def _importable(id: str, function: bool) -> bool:
    """Whether the module of a function is there."""
    from importlib.util import find_spec

    try:
        return function and find_spec(id.partition(":")[0]) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


def _extra(spec: ModelSpec, files: Files | None) -> str | None:
    """What it needs: its files know best."""
    from steelyard.encoders.load import kind_of
    from steelyard.encoders.model_folder import ModelFolder
    from steelyard.models.availability import extra_for

    if spec.family not in ("dense", "rerank") or files is None:
        return extra_for(spec.family, spec.id)
    kind = kind_of(ModelFolder(spec.id, files.path)) if files.path.is_dir() else "vectors"
    return {"sentence-transformers": "torch", "onnx": "onnx", "static": "static"}.get(kind)


def _results(spec: ModelSpec, arguments: argparse.Namespace, output: Output) -> list[dict[str, Any]]:
    """The results of the model, with whatever options and revision; of a composite, with these very parts.

    A reranker is weighed in pipelines: of one, those of every pipeline that it is a stage of.
    """
    from steelyard.errors import UsageError
    from steelyard.retrievers import canonical

    def same(name: str) -> bool:
        try:
            other = canonical(name)
        except UsageError:  # of a plug-in or a version with another grammar
            return False
        stages = other.parts if spec.family == "rerank" and other.family == "pipeline" else (other,)
        return any((one.family, one.id, one.parts) == (spec.family, spec.id, spec.parts) for one in stages)

    found = stored_results(arguments, output)
    return [
        {"model": r.model, "task": r.task, "metric": r.main_metric, "score": r.score, "key": r.key}
        for r in sorted(found, key=lambda result: (result.model, result.task))
        if r.done and same(r.model)
    ]


def _say_card(told: Mapping[str, Any], output: Output) -> None:
    for key, label in LABELS.items():
        value = told.get(key)
        if value in (None, "", [], {}, False):
            continue
        if key == "parameters":
            value = short_number(value)
        elif key == "languages":
            value = (
                "many, or any" if "*" in value else f"{', '.join(value)}" + (f" ({len(value)})" if value[3:] else "")
            )
        elif key == "matryoshka":
            value = ", ".join(map(str, value))
        elif key == "prompts":
            value = "; ".join(f"{role} {prompt!r}" for role, prompt in value.items())
        elif value is True:
            value = "yes (trust_remote_code=true allows it)"
        say(output, label, str(value))
    if not told["card"] and "parts" not in told["machine"]:
        say(output, "card", "none, and none is needed")


def _say_machine(machine: Mapping[str, Any], output: Output) -> None:
    for part in _leaves(machine):
        if part is not machine:
            say(output, f"\n{part['model']}:")
        if part["needs"] == "api":
            say(output, "needs", "the service, and its key in the environment")
        elif part["needs"]:
            missing = f", without {', '.join(part['lacks'])}: {part['remedy']}" if part["lacks"] else ", installed"
            say(output, "needs", f"steelyard[{part['needs']}]{missing}")
        if part["needs"] != "api":
            say(output, "on this machine", _where(part))
        for kept in part["stored"]:
            say(output, "stored", f"{kept['encodings']:,} encodings, {size(kept['bytes'])} in {kept['name']}")


def _leaves(machine: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "parts" not in machine:
        yield machine
    for part in machine.get("parts", ()):
        yield from _leaves(part)


def _where(part: Mapping[str, Any]) -> str:
    if part["comes_with_steelyard"]:
        return "yes, it comes with Steelyard"
    if part["comes_with_its_package"]:
        return "no, it comes with that package" if part["lacks"] else "yes, it comes with that package"
    if part["function"]:
        missing = "" if part["installed"] else ", whose module is not found: PYTHONPATH=. finds those of this folder"
        return f"a Python function{missing}"
    files = part["files"]
    if files is None:
        return "no files of it"
    return f"{size(files['bytes'])} in {files['path']}" + (f" (from {files['hub']})" if files["hub"] else "")


def _say_results(results: list[dict[str, Any]], output: Output) -> None:
    if not results:
        return
    say(output, "\nweighed here:")
    columns = ("model", "task", "metric", "score")
    output.table(columns, [[row[column] for column in columns] for row in results[:SHOWN]])
    if len(results) > SHOWN:
        output.note(f"and {len(results) - SHOWN:,} more: steelyard list results")
