"""`steelyard show model NAME`: card, files on this machine and stored results of a model."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.options import stored_results
from steelyard.cli._ui.wording import byte_size, print_fact, short
from steelyard.cli.list.models import short_number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from steelyard.cli._ui.output import Output
    from steelyard.config import Settings
    from steelyard.models.availability import ModelFiles
    from steelyard.spec import ModelSpec

MAX_RESULTS = 20
"""Results in the table; JSON has all."""
LABELS = {
    "model": "model",
    "family": "family",
    "dimension": "dimension",
    "matryoshka": "can be truncated to",
    "parameters": "parameters",
    "max_length": "max tokens",
    "languages": "languages",
    "licence": "licence",
    "similarity": "similarity",
    "prompts": "prompts",
    "remote_code": "needs remote code",
    "source": "source of facts",
}


def is_model(name: str) -> bool:
    """Return whether the name is that of a model: of a known family, a fusion, a pipeline, or one with a card."""
    from steelyard.models import card
    from steelyard.retrievers import RETRIEVERS

    first = name.partition(">")[0].strip()
    return first.startswith("[") or first.partition(":")[0].partition("?")[0] in RETRIEVERS or card(name) is not None


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print the facts of the model; `--load` loads it to show its settings."""
    facts = _facts(arguments, output)
    if output.json:
        output.data(facts)
        return 0
    _print_card(facts, output)
    _print_machine(facts["machine"], output)
    if facts["settings"] is not None:
        print_fact(output, "\nsettings:")
        for key, value in facts["settings"].items():
            print_fact(output, f"  {key}", short(str(value)))
    else:
        command = f"steelyard show model {shlex.quote(facts['model'])} --load"
        output.note(f"\n`{command}` loads the model and shows its settings")
    _print_results(facts["results"], output)
    return 0


def _facts(arguments: argparse.Namespace, output: Output) -> dict[str, Any]:
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
    card_facts: Mapping[str, Any] = known.facts() if known else _declared(spec)
    return {
        **card_facts,
        "model": str(spec),
        "family": spec.family,
        "card": known is not None,
        "machine": _machine(spec, arguments.settings),
        "settings": settings,
        "results": _results(spec, arguments, output),
    }


def _declared(spec: ModelSpec) -> dict[str, Any]:
    """Return the facts in the files of a model without a card, if they are on this machine."""
    from steelyard.encoders.model_folder import ModelFolder
    from steelyard.encoders.model_metadata import model_metadata
    from steelyard.models.availability import MODELS, find_files

    files = find_files(spec.id) if spec.family in MODELS else None
    if files is None or not files.path.is_dir():
        return {}
    facts = model_metadata(ModelFolder(spec.id, files.path), spec.family)
    return facts | {"source": "its own files"} if facts else {}


def _settings(spec: ModelSpec, settings: Settings) -> dict[str, Any]:
    """Load the model and return its settings."""
    from steelyard.retrievers import load_retriever
    from steelyard.retrievers.rerank.load import load_reranker

    return dict((load_reranker(spec, settings) if spec.family == "rerank" else load_retriever(spec, settings)).settings)


def _check(spec: ModelSpec) -> None:
    """Raise UnknownName if a family is unknown."""
    from steelyard.errors import UnknownName
    from steelyard.models import cards
    from steelyard.retrievers import RETRIEVERS

    if spec.parts:
        for part in spec.parts:
            _check(part)
    elif spec.family not in RETRIEVERS:
        raise UnknownName("model", str(spec), [*RETRIEVERS, *cards()], hint="run `steelyard list models`")


def _is_light(spec: ModelSpec) -> bool:
    """Return whether the model loads at once and without the network."""
    from steelyard.models.availability import BUNDLED
    from steelyard.retrievers import RETRIEVERS

    if spec.parts:
        return all(map(_is_light, spec.parts))
    return (spec.id or spec.family) in BUNDLED or (spec.family in RETRIEVERS.plugins)


def _machine(spec: ModelSpec, settings: Settings) -> dict[str, Any]:
    from steelyard.encoders.cache.inventory import inventory
    from steelyard.models.availability import BUNDLED, find_files, is_function, missing_modules

    if spec.parts:
        parts = [_machine(part, settings) for part in spec.parts]
        return {"installed": all(part["installed"] for part in parts), "parts": parts, "model": str(spec)}
    own, files, function = (spec.id or spec.family) in BUNDLED, find_files(spec.id), is_function(spec.family, spec.id)
    extra = _extra(spec, files)
    names = {spec.id, f"{spec.family}:{spec.id}"} | ({files.path.resolve().name} if files else set())
    stored = [entry for entry in inventory(settings.home) if entry.encoder.partition("?")[0] in names]
    return {
        "model": str(spec),
        "installed": (own or files is not None or _importable(spec.id, function)) and not missing_modules(extra),
        "needs": extra,
        "lacks": missing_modules(extra),
        "remedy": f"pip install 'steelyard[{extra}]'" if missing_modules(extra) else None,
        "comes_with_steelyard": own and extra is None,
        "comes_with_its_package": own and extra is not None,
        "function": function,
        "files": {"path": str(files.path), "hub": files.hub, "bytes": files.bytes} if files else None,
        "stored": [{"name": e.folder.name, "encodings": e.encodings, "bytes": e.bytes} for e in stored],
    }


def _importable(id: str, function: bool) -> bool:
    """Return whether the module of a function can be imported."""
    from importlib.util import find_spec

    try:
        return function and find_spec(id.partition(":")[0]) is not None
    except ModuleNotFoundError:  # the package of the module
        return False


def _extra(spec: ModelSpec, files: ModelFiles | None) -> str | None:
    """Return the extra that the model needs, from its files if they are here."""
    from steelyard.encoders.load import detect_backend
    from steelyard.encoders.model_folder import ModelFolder
    from steelyard.models.availability import extra_for

    if spec.family not in ("dense", "rerank") or files is None:
        return extra_for(spec.family, spec.id)
    kind = detect_backend(ModelFolder(spec.id, files.path)) if files.path.is_dir() else "vectors"
    return {"sentence-transformers": "torch", "onnx": "onnx", "static": "static"}.get(kind)


def _results(spec: ModelSpec, arguments: argparse.Namespace, output: Output) -> list[dict[str, Any]]:
    """Return the results of the model with any options and revision; of a composite, with the same parts.

    Of a reranker, return those of every pipeline that has it as a stage.
    """
    from steelyard.errors import UsageError
    from steelyard.retrievers import canonical

    def same(name: str) -> bool:
        try:
            other = canonical(name)
        except UsageError:  # from a plug-in or another version
            return False
        stages = other.parts if spec.family == "rerank" and other.family == "pipeline" else (other,)
        return any((one.family, one.id, one.parts) == (spec.family, spec.id, spec.parts) for one in stages)

    results = stored_results(arguments, output)
    return [
        {"model": r.model, "task": r.task, "metric": r.main_metric, "score": r.score, "key": r.key}
        for r in sorted(results, key=lambda result: (result.model, result.task))
        if r.done and same(r.model)
    ]


def _print_card(facts: Mapping[str, Any], output: Output) -> None:
    for key, label in LABELS.items():
        value = facts.get(key)
        if value in (None, "", [], {}, False):
            continue
        if key == "parameters":
            value = short_number(value)
        elif key == "languages":
            value = "many" if "*" in value else f"{', '.join(value)}" + (f" ({len(value)})" if value[3:] else "")
        elif key == "matryoshka":
            value = ", ".join(map(str, value))
        elif key == "prompts":
            value = "; ".join(f"{role} {prompt!r}" for role, prompt in value.items())
        elif value is True:
            value = "yes (trust_remote_code=true allows it)"
        print_fact(output, label, str(value))
    if not facts["card"] and "parts" not in facts["machine"]:
        print_fact(output, "card", "none (not required)")


def _print_machine(machine: Mapping[str, Any], output: Output) -> None:
    for part in _leaves(machine):
        if part is not machine:
            print_fact(output, f"\n{part['model']}:")
        if part["needs"] == "api":
            print_fact(output, "needs", "the service and an API key in the environment")
        elif part["needs"]:
            missing = f"; missing: {', '.join(part['lacks'])} ({part['remedy']})" if part["lacks"] else ", installed"
            print_fact(output, "needs", f"steelyard[{part['needs']}]{missing}")
        if part["needs"] != "api":
            print_fact(output, "on this machine", _where(part))
        for entry in part["stored"]:
            text = f"{entry['encodings']:,} encodings, {byte_size(entry['bytes'])} in {entry['name']}"
            print_fact(output, "stored", text)


def _leaves(machine: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "parts" not in machine:
        yield machine
    for part in machine.get("parts", ()):
        yield from _leaves(part)


def _where(part: Mapping[str, Any]) -> str:
    if part["comes_with_steelyard"]:
        return "yes, part of Steelyard"
    if part["comes_with_its_package"]:
        return "no, part of that package" if part["lacks"] else "yes, part of that package"
    if part["function"]:
        missing = "" if part["installed"] else "; its module was not found: set PYTHONPATH=. for modules of this folder"
        return f"a Python function{missing}"
    files = part["files"]
    if files is None:
        return "no"
    return f"{byte_size(files['bytes'])} in {files['path']}" + (f" (from {files['hub']})" if files["hub"] else "")


def _print_results(results: list[dict[str, Any]], output: Output) -> None:
    if not results:
        return
    print_fact(output, "\nstored results:")
    columns = ("model", "task", "metric", "score")
    output.table(columns, [[row[column] for column in columns] for row in results[:MAX_RESULTS]])
    if len(results) > MAX_RESULTS:
        output.note(f"{len(results) - MAX_RESULTS:,} more: `steelyard list results`")
