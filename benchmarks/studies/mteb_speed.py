"""The same tasks with the same vectors in mteb and in Steelyard: equal figures, and what each spends outside the model.

    python benchmarks/studies/mteb_speed.py                                     # all six types
    python benchmarks/studies/mteb_speed.py --small
    python benchmarks/studies/mteb_speed.py --data DIR --model dense:ID  # mteb's own classes on the repositories in DIR

Both sides look their vectors up in one table, so the model is free, and what that costs is taken off. CPU seconds of
the process on one thread, medians of interleaved repetitions, without imports and without reading files. Steelyard's
share holds intervals, values by query and a hash of the data, which mteb does not have. With --data (`cmteb_data.py`
lays such repositories out) the tasks are mteb's own C-MTEB classes, which read the files themselves, against our
readers. `undefined`: keys that are null here because every query has the same value, where mteb divides two rounding
errors.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `harness`
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import argparse  # noqa: E402
import importlib  # noqa: E402
import math  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from typing import Any  # noqa: E402

import mteb  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from mteb.models.abs_encoder import AbsEncoder  # noqa: E402
from mteb.models.model_meta import ModelMeta, ScoringFunction  # noqa: E402

from harness.made_tasks import retrieval, table_of, task_of  # noqa: E402
from steelyard import evaluate  # noqa: E402
from steelyard.compat.mteb import as_mteb_task  # noqa: E402
from steelyard.datasets import load_any  # noqa: E402
from steelyard.encoders.backends.function import from_function  # noqa: E402
from steelyard.retrievers.dense import DenseRetriever  # noqa: E402
from steelyard.tasks import texts_of  # noqa: E402
from steelyard.types import Float32, Task  # noqa: E402
from steelyard.types.samples import AnyTask  # noqa: E402

LIMIT = 10.0
"""How many times less CPU retrieval on 10,000 x 200 has to take."""
ALLOWED = 1e-6
"""The largest difference of any key."""
KINDS = ("retrieval", "reranking", "sts", "pair_classification", "classification", "clustering", "sampled")
INTERVAL_CODE = (
    "steelyard.tasks.correlation._resampled",
    "steelyard.tasks.separation._resampled",
    "steelyard.tasks.classification._intervals",
    "steelyard.stats.intervals",
)
"""Where intervals are made: mteb has none."""
OWN = {"main_score", "hf_subset", "languages", "mteb_version"}
CHINESE = {
    "T2Retrieval": "dev",
    "MedicalRetrieval": "dev",
    "T2Reranking": "dev",
    "Ocnli": "validation",
    "ATEC": "test",
    "LCQMC": "test",
    "STSB": "test",
    "TNews": "validation",
    "CLSClusteringS2S": "test",
    "ThuNewsClusteringS2S": "test",
    "CLSClusteringS2S.v2": "test",
}
"""Tasks that `cmteb_data.py` lays out, and a split of each."""


class Lookup:
    """Vectors by text, and the CPU seconds that looking them up took."""

    def __init__(self, vectors: dict[str, Float32]) -> None:
        self.vectors = vectors
        self.seconds = 0.0

    def __call__(self, texts: Sequence[str]) -> Float32:
        start = time.process_time()
        vectors = np.stack([self.vectors[text] for text in texts])
        self.seconds += time.process_time() - start
        return vectors


class LookupEncoder(AbsEncoder):
    """The table as a model of mteb, written as its documentation says."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        fields = dict.fromkeys(name for name, field in ModelMeta.model_fields.items() if field.is_required())
        own = {"name": "lookup/lookup", "revision": "1", "framework": [], "similarity_fn_name": ScoringFunction.COSINE}
        self.mteb_model_meta = ModelMeta(**{**fields, **own})

    def encode(self, inputs: Any, **_: Any) -> Float32:
        return np.concatenate([self.lookup(batch["text"]) for batch in inputs])


def ours(lookup: Lookup) -> DenseRetriever:
    lookup.vectors.setdefault("steelyard", next(iter(lookup.vectors.values())))  # asked for to learn the dimension
    return DenseRetriever("dense:lookup", from_function(lambda texts: lookup(texts), "lookup", batch_size=1 << 20))


def made(small: bool) -> Iterator[AnyTask]:
    """A task of each type, of the size that such tasks have."""
    for kind in KINDS:
        yield task_of(kind, 10 if small else 1)


def all_texts(task: AnyTask) -> list[str]:
    return [*task.corpus.texts, *task.queries.texts] if isinstance(task, Task) else texts_of(task)


class Stopwatch:
    """CPU seconds inside some functions, which are wrapped where they stand."""

    def __init__(self, *places: str) -> None:
        self.seconds = 0.0
        for place in places:
            module, _, name = place.rpartition(".")
            home = importlib.import_module(module)
            setattr(home, name, self._timed(getattr(home, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            result = function(*args, **kwargs)
            result = iter(list(result)) if isinstance(result, Iterator) else result  # or the work would be done later
            self.seconds += time.process_time() - start
            return result

        return timed


INTERVALS = Stopwatch(*INTERVAL_CODE)


def spent(work: Callable[[], Any], lookup: Lookup) -> tuple[Any, float]:
    """What the work gives, and its CPU seconds outside the model."""
    lookup.seconds, start = 0.0, time.process_time()
    result = work()
    return result, time.process_time() - start - lookup.seconds


def flat(value: Any, key: str = "") -> Iterator[tuple[str, float | None]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from flat(inner, f"{key}[{place}]")
    elif value is None or isinstance(value, float | int | np.floating):
        yield key, None if value is None or math.isnan(value) else float(value)


def differences(mine: dict[str, Any], peer: dict[str, Any]) -> tuple[str, float, str, float]:
    """How many keys both have, the largest difference, where it is, and by how much it passes what is allowed there.

    A key of one side alone is infinitely far.
    """
    left = dict(flat(mine))
    right = dict(flat({key: value for key, value in peer.items() if key not in OWN}))
    worst, where, undefined, excess = 0.0, "-", 0, 0.0
    for key in left.keys() | right.keys():
        a, b = left.get(key, math.inf), right.get(key, math.inf)
        if a is None and b is not None and key.startswith("nauc_"):
            undefined += 1
            continue
        same = a == b or (a is None and b is None)
        apart = 0.0 if same else math.inf if a is None or b is None else abs(a - b)
        excess = max(excess, apart / ALLOWED)
        if apart > worst:
            worst, where = apart, key
    shared = str(len(left.keys() & right.keys()))
    return f"{shared}, {undefined} undefined" if undefined else shared, worst, where, excess


def theirs(model: Any, task: Any, split: str) -> dict[str, Any]:
    done = mteb.evaluate(model, [task], cache=None, show_progress_bar=False, co2_tracker=False)
    return dict(done.task_results[0].scores[split][0])


def compare(
    name: str,
    lookup: Lookup,
    here: Callable[[], AnyTask],
    peer_task: Callable[[], Any],
    repetitions: int,
) -> tuple[list[str], float, float]:
    """A line of the table, the ratio, the excess of the differences; tasks are made anew each time, off the clock."""
    model, peer = ours(lookup), LookupEncoder(lookup)
    seconds: dict[str, list[float]] = {"mteb": [], "steelyard": [], "intervals": []}
    for _ in range(repetitions):
        task, mine = peer_task(), here()
        scores, cpu = spent(lambda task=task, mine=mine: theirs(peer, task, mine.info.split), lookup)  # type: ignore[misc]
        seconds["mteb"].append(cpu)
        INTERVALS.seconds = 0.0
        (result,), cpu = spent(lambda mine=mine: evaluate(model, mine), lookup)  # type: ignore[misc]
        seconds["steelyard"].append(cpu)
        seconds["intervals"].append(INTERVALS.seconds)
        if not result.done:
            raise SystemExit(f"{name}: {result.error}")
    keys, worst, where, excess = differences(dict(result.mteb), scores)
    slow, fast, doubt = (statistics.median(seconds[side]) for side in ("mteb", "steelyard", "intervals"))
    main = f"{result.main_metric} {scores['main_score']:.6f}"
    line = [name, main, keys, f"{worst:.1e} {where}", f"{slow:.3f}"]
    print(f"{name}: {main}, {worst:.1e} {where}", file=sys.stderr, flush=True)
    line += [f"{fast:.3f}", f"{doubt:.3f}", f"{slow / fast:.1f}", f"{slow / (fast - doubt):.1f}"]
    return line, slow / fast, excess


def show(lines: list[list[str]]) -> None:
    head = ["task", "main score", "keys", "largest difference", "mteb CPU s", "steelyard CPU s"]
    head += ["of it intervals", "ratio", "without intervals"]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    for line in [head, ["-" * width for width in widths], *lines]:
        print("| " + " | ".join(map(str.ljust, line, widths)) + " |", flush=True)


def again(task: AnyTask) -> AnyTask:
    """The same task, of which nothing is remembered."""
    if not isinstance(task, Task):
        return replace(task)
    return replace(task, corpus=replace(task.corpus), queries=replace(task.queries), qrels=replace(task.qrels))


def table_for(task: AnyTask) -> Lookup:
    return Lookup(table_of(task))


def warm_up() -> None:
    """Both sides import more when first used."""
    task = retrieval(50, 5)
    lookup = table_for(task)
    compare("", lookup, lambda: again(task), lambda: as_mteb_task(task), 1)


def on_made_tasks(small: bool, repetitions: int) -> bool:
    lines, good = [], True
    for task in made(small):
        line, ratio, excess = compare(
            task.name, table_for(task), lambda task=task: again(task), lambda task=task: as_mteb_task(task), repetitions
        )
        lines.append(line)
        good &= excess < 1 and (small or task.info.type != "retrieval" or ratio >= LIMIT)
    show(lines)
    print(f"limit: {LIMIT:g} x less CPU on retrieval, no difference above {ALLOWED:g}: {'met' if good else 'MISSED'}")
    return good


def on_repositories(folder: Path, model: str, repetitions: int, tasks: Sequence[str]) -> bool:
    """The task classes of mteb itself; `datasets` takes a folder of a repository's name for the repository."""
    from steelyard.retrievers import load_retriever

    encoder: Any = load_retriever(model)
    os.environ["STEELYARD_DATA"] = str(folder.resolve())
    os.chdir(folder)
    lines, good = [], True
    for name in tasks:
        split = CHINESE[name]
        task = load_any(f"mteb:{name}") if name.endswith(".v2") else load_any(f"C-MTEB/{name}")
        some = all_texts(task)
        if isinstance(task, Task):
            half = len(task.corpus)
            pairs = [(some[:half], "document"), (some[half:], "query")]
        else:
            pairs = [(some, "text")]
        lookup = Lookup({})
        for part, role in pairs:
            lookup.vectors |= dict(zip(part, encoder.embed(part, role)[0], strict=True))

        def loaded(name: str = name, split: str = split) -> Any:
            fresh = mteb.get_task(name, eval_splits=[split])
            fresh.load_data()
            return fresh

        line, _, excess = compare(name, lookup, lambda task=task: again(task), loaded, repetitions)
        lines.append(line)
        good &= excess < 1
    show(lines)
    print(f"no difference above {ALLOWED:g}: {'met' if good else 'MISSED'}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--data", type=Path, help="a folder of repositories, as cmteb_data.py writes them")
    parser.add_argument("--tasks", nargs="+", choices=CHINESE, default=list(CHINESE), help="with --data: which")
    parser.add_argument("--model", default="dense", help="whose vectors are looked up with --data")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    import datasets

    datasets.disable_progress_bars()
    print(f"mteb {mteb.__version__}\n")
    warm_up()
    if arguments.data is None:
        good = on_made_tasks(arguments.small, arguments.repetitions)
    else:
        print(f"mteb's own classes on real Chinese texts, vectors of {Path(arguments.model).name}\n")
        good = on_repositories(arguments.data, arguments.model, arguments.repetitions, arguments.tasks)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
