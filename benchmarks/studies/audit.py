"""Speed, recall and precision of the leakage audit, next to datasketch, rensa and semhash.

    python benchmarks/studies/audit.py                 40,000 training rows of 100 words against 10,000 evaluation texts
    python benchmarks/studies/audit.py --rows 1000000  more training rows (datasketch and rensa read fewer of them)
    python benchmarks/studies/audit.py --semantic EN ZH  two folders with parallel queries, as xquad_en and xquad_zh

The texts are made: words of a Zipfian vocabulary with frequent phrases, so that unrelated texts share shingles as real
ones do. One training row in ten is an edited evaluation text, with a Jaccard similarity from 0.5 to 1. The truth is
computed by brute force: all pairs, as a product of sparse matrices. Each method reads the JSON Lines file itself and
runs in a process of its own. Needs scipy; the others are `pip install datasketch rensa semhash`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

WORDS = 100
EVALUATION = 10_000
PERMUTATIONS = 128
LEAST = 0.5
"""The least similarity that every method is asked for."""
MOST_ROWS = {"datasketch": 4_000, "rensa": 40_000}
Pairs = dict[tuple[int, int], float]
Measured = tuple[Pairs, float, float, int]
"""Pairs, seconds, processor seconds, rows read."""


class Clock:
    """Seconds of the wall clock and of the processor since it was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter(), time.process_time()

    def seconds(self) -> tuple[float, float]:
        return time.perf_counter() - self.start[0], time.process_time() - self.start[1]


def make_texts(rng: np.random.Generator, count: int, vocabulary: list[str]) -> list[list[str]]:
    """Return texts of Zipfian words, a third of them from frequent phrases."""
    weights = 1 / np.arange(10, len(vocabulary) + 10)
    steps = np.cumsum(weights / weights.sum())
    phrases = np.searchsorted(steps, np.random.default_rng(0).random((3000, 5)))
    words = np.searchsorted(steps, rng.random((count, WORDS)))
    chosen = np.minimum((3000 ** rng.random((count, 7))).astype(np.int64), 2999)
    places = rng.integers(0, WORDS - 5, (count, 7))
    for column in range(7):
        for offset in range(5):
            words[np.arange(count), places[:, column] + offset] = phrases[chosen[:, column], offset]
    return [[vocabulary[word] for word in row] for row in words.tolist()]


def make(folder: Path, rows: int) -> None:
    """Write `evaluation.json` and `training.jsonl`."""
    rng = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = list({"".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(50_000)})
    vocabulary.sort()
    rng.shuffle(vocabulary)
    evaluation = make_texts(rng, EVALUATION, vocabulary)
    (folder / "evaluation.json").write_text(json.dumps([" ".join(words) for words in evaluation]), encoding="utf-8")
    with (folder / "training.jsonl").open("w", encoding="utf-8") as file:
        for start in range(0, rows, 10_000):
            for number, words in enumerate(make_texts(rng, min(10_000, rows - start), vocabulary), start):
                if number % 10 == 0:
                    words = list(evaluation[number // 10 % EVALUATION])
                    for place in rng.integers(0, WORDS, number // 10 % 14).tolist():
                        words[place] = f"edit{place}"
                text = " ".join(words).capitalize() + "."
                file.write(json.dumps({"id": number, "url": f"https://example.org/{number}", "text": text}) + "\n")


def training(folder: Path, rows: int) -> Iterator[str]:
    """Yield the first texts of the training file as plain Python reads them, in the normal form."""
    with (folder / "training.jsonl").open(encoding="utf-8") as file:
        for _, line in zip(range(rows), file, strict=False):
            yield json.loads(line)["text"].lower().rstrip(".")


def shingle_set(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[start : start + 3]) for start in range(len(words) - 2)}


def brute_force(folder: Path, rows: int, least: float) -> Pairs:
    """Return the true similarity of every pair from `least` on."""
    from scipy.sparse import csr_matrix

    evaluation = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    numbers: dict[str, int] = {}

    def matrix(texts: list[str]) -> csr_matrix:
        sets = [[numbers.setdefault(shingle, len(numbers)) for shingle in shingle_set(text)] for text in texts]
        offsets = np.concatenate(([0], np.cumsum([len(one) for one in sets])))
        return sets, np.concatenate([np.array(one, dtype=np.int64) for one in sets]), offsets

    _, theirs, their_offsets = matrix(evaluation)
    pairs: Pairs = {}
    texts = list(training(folder, rows))
    for start in range(0, len(texts), 5000):
        part = texts[start : start + 5000]
        _, ours, offsets = matrix(part)
        one = csr_matrix((np.ones(len(ours), np.int32), ours, offsets), shape=(len(part), len(numbers)))
        other = csr_matrix(
            (np.ones(len(theirs), np.int32), theirs, their_offsets), shape=(len(evaluation), len(numbers))
        )
        shared = (one @ other.T).tocoo()
        sizes, their_sizes = np.diff(offsets), np.diff(their_offsets)
        score = shared.data / (sizes[shared.row] + their_sizes[shared.col] - shared.data)
        near = score >= least - 1e-9
        for row, column, value in zip(shared.row[near], shared.col[near], score[near], strict=True):
            pairs[start + int(row), int(column)] = float(value)
    return pairs


def ours(folder: Path, rows: int, jaccard: float) -> Measured:
    """Return the pairs of our scan, its seconds without the index, and the rows read."""
    from steelyard.audit.evaluation_side import collect
    from steelyard.audit.lexical.matcher import Matcher, Thresholds
    from steelyard.audit.scan import Scanner
    from steelyard.audit.training_data import training_files
    from steelyard.types import TaskInfo
    from steelyard.types.samples import LabelTask

    texts = tuple(json.loads((folder / "evaluation.json").read_text(encoding="utf-8")))
    labels = tuple(str(row % 2) for row in range(len(texts)))
    task = LabelTask(TaskInfo("made/texts", type="classification"), texts[:2], labels[:2], texts, labels)
    scanner = Scanner(Matcher(collect([task]), Thresholds(jaccard=jaccard)))
    clock = Clock()
    scan = scanner.scan(training_files([folder / "training.jsonl"]))
    seconds = clock.seconds()
    table = scan.log.table
    near = table[table["level"] <= 1]
    pairs = zip(near["row"].tolist(), near["text"].tolist(), near["score"].tolist(), strict=True)
    return {(row - 1, text): score for row, text, score in pairs if row <= rows}, *seconds, scan.rows


def with_datasketch(folder: Path, rows: int, jaccard: float) -> Measured:
    """Return verified candidates of datasketch's LSH: the usual recipe, the evaluation side indexed."""
    from datasketch import MinHash, MinHashLSH

    def minhash(shingles: set[str]) -> MinHash:
        one = MinHash(num_perm=PERMUTATIONS)
        one.update_batch([shingle.encode() for shingle in shingles])
        return one

    evaluation = [shingle_set(text) for text in json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))]
    index = MinHashLSH(num_perm=PERMUTATIONS, params=(32, 4))
    for number, shingles in enumerate(evaluation):
        index.insert(number, minhash(shingles))
    pairs: Pairs = {}
    clock = Clock()
    for row, text in enumerate(training(folder, rows)):
        shingles = shingle_set(text)
        for number in index.query(minhash(shingles)):
            score = len(shingles & evaluation[number]) / len(shingles | evaluation[number])
            if score >= jaccard - 1e-9:
                pairs[row, number] = score
    return pairs, *clock.seconds(), rows


def with_rensa(folder: Path, rows: int, jaccard: float) -> Measured:
    """Return verified candidates of rensa's R-MinHash on our shingles: 32 bands of 4, joined in numpy."""
    from rensa import RMinHash

    from steelyard.audit.lexical.lookup import Lookup
    from steelyard.audit.lexical.near_duplicates import shared_counts
    from steelyard.audit.lexical.normal_form import mix, tokenise
    from steelyard.audit.lexical.shingles import NEAR, ShingleSets, Windows, distinct

    def sets_of(texts: list[str]) -> ShingleSets:
        windows = Windows(tokenise(texts))
        starts, hashes = windows.of_length(NEAR)
        return distinct(windows.text_of(starts), hashes, len(texts))

    def bands(sets: ShingleSets) -> np.ndarray:
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(sets.hashes, sets.offsets.tolist(), PERMUTATIONS, 42)
        rows = np.array(matrix.to_rows(), dtype=np.uint64).reshape(len(sets.counts), 32, 4)
        keys = np.zeros(rows.shape[:2], dtype=np.uint64)
        for column in range(4):
            keys = mix(keys * np.uint64(31) + rows[:, :, column] + np.arange(32, dtype=np.uint64))
        return keys

    evaluation = sets_of(json.loads((folder / "evaluation.json").read_text(encoding="utf-8")))
    keys = bands(evaluation)
    index = Lookup(keys.ravel(), np.repeat(np.arange(len(keys)), 32))
    pairs: Pairs = {}
    clock = Clock()
    texts = list(training(folder, rows))
    for first in range(0, len(texts), 2000):
        sets = sets_of(texts[first : first + 2000])
        places, owners = index.postings(*index.find(bands(sets).ravel()))
        candidates = np.unique((places // 32) * len(keys) + owners)
        one, other = candidates // len(keys), candidates % len(keys)
        shared = shared_counts(sets, one, evaluation, other)
        scores = shared / (sets.counts[one] + evaluation.counts[other] - shared)
        for row, number, score in zip(one.tolist(), other.tolist(), scores.tolist(), strict=True):
            if score >= jaccard - 1e-9:
                pairs[first + row, number] = score
    return pairs, *clock.seconds(), rows


METHODS: dict[str, Callable[[Path, int, float], Measured]] = {
    "steelyard": ours,
    "rensa": with_rensa,
    "datasketch": with_datasketch,
}


def semantic(first: str, second: str) -> None:
    """Compare the calibrated margin with semhash's cosine threshold on two parallel sets, with the same encoder."""
    from semhash import SemHash

    from steelyard import load_task
    from steelyard.audit import audit
    from steelyard.encoders import load_encoder

    encoder = load_encoder("use-multilingual-v3")

    class Model:
        def encode(self, texts: list[str], **_: object) -> np.ndarray:
            return np.asarray(encoder.encode(list(texts), "text"))

    task, other = load_task(first), load_task(second)
    text_of = dict(zip(other.queries.texts, other.queries.ids, strict=True))
    id_of = dict(zip(task.queries.texts, task.queries.ids, strict=True))
    start = time.perf_counter()
    result = audit(task, records=other.queries.texts, encoder=encoder, parts=["queries"])
    matches = [match for match in result.matches if match.level == "semantic"]
    right = sum(text_of[match.training_text] == match.id for match in matches)
    report("steelyard, calibrated margin", matches, right, len(task.queries), time.perf_counter() - start)
    for threshold in (0.9, 0.8, 0.7, 0.6):
        start = time.perf_counter()
        index = SemHash.from_records(list(other.queries.texts), model=Model())
        filtered = index.deduplicate(list(task.queries.texts), threshold=threshold).filtered
        best = [(id_of[one.record], one.duplicates[0][0]) for one in filtered if one.duplicates]
        right = sum(text_of[text] == query for query, text in best)
        report(f"semhash, cosine {threshold}", best, right, len(task.queries), time.perf_counter() - start)


def report(name: str, matches: list[object], right: int, total: int, seconds: float) -> None:
    precision = right / len(matches) if matches else float("nan")
    print(
        f"{name:30} flagged {len(matches):5,}  recall {right / total:.3f}  precision {precision:.3f}  {seconds:.1f} s"
    )


def child(name: str, folder: Path, rows: int) -> None:
    """Run one method at 0.5 and print its pairs and costs as JSON."""
    pairs, seconds, cpu_seconds, read = METHODS[name](folder, rows, LEAST)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    listed = [[row, text, score] for (row, text), score in pairs.items()]
    print(json.dumps({"pairs": listed, "rate": read / seconds, "cpu_rate": read / cpu_seconds, "peak": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--semantic", nargs=2, metavar=("EN", "ZH"))
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.semantic:
        semantic(*arguments.semantic)
        return
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]), int(arguments.child[2]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, arguments.rows)
        checked = min(arguments.rows, 40_000)
        truth = brute_force(folder, checked, 0.5)
        edges = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
        print(
            f"{arguments.rows:,} rows, {EVALUATION:,} texts, {len(truth):,} true pairs from 0.5 on in {checked:,} rows"
        )
        print(
            f"{'':12}{'rows/s':>9}{'rows/CPU s':>12}{'peak MB':>9}  "
            + "".join(f"{f'recall {edge}+':>13}" for edge in edges)
            + "   precision"
        )
        rates: dict[str, float] = {}
        cpu_rates: dict[str, float] = {}
        for method in METHODS:
            rows = min(checked, MOST_ROWS.get(method, checked))
            command = [sys.executable, __file__, "--child", method, name, str(rows)]
            output = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            pairs = {(row, text) for row, text, _ in output["pairs"]}
            rates[method], cpu_rates[method] = output["rate"], output["cpu_rate"]
            recalls = []
            for low, high in zip(edges, [*edges[1:], 2.0], strict=True):
                wanted = {pair for pair, score in truth.items() if low <= score < high and pair[0] < rows}
                recalls.append(len(wanted & pairs) / len(wanted) if wanted else float("nan"))
            precision = len(pairs & set(truth)) / len(pairs)
            print(
                f"{method:12}{output['rate']:9,.0f}{output['cpu_rate']:12,.0f}{output['peak']:9,.0f}  "
                + "".join(f"{recall:13.3f}" for recall in recalls)
                + f"{precision:12.3f}"
            )
        ratio = rates["steelyard"] / rates["datasketch"]
        cpu_ratio = cpu_rates["steelyard"] / cpu_rates["datasketch"]
        print(f"steelyard / datasketch: {ratio:.1f}, by processor time {cpu_ratio:.1f}")


if __name__ == "__main__":
    main()
