"""Fault injection on whole commands: kills, full and read-only disks, several processes, a clock that jumps, signals.

    python tests/faults/injection.py                      200 kills over five commands, and every other fault
    python tests/faults/injection.py --kills 5 --only run

After every fault the same command is run again, undisturbed. Its outputs must equal those of a run that was never
disturbed: same files, same content, times and dates apart. In between, no output file may be half-written.
`make faults` calls it; `--page docs/faults.md` stores the counts in `record.json` and writes the table. Full and
read-only disks need a small file system in memory, which only root on Linux can mount.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from page import changed_record, write_page

WORDS = ["river", "mountain", "ocean", "forest", "desert", "island", "valley", "glacier", "volcano", "canyon", "lagoon"]
VOLATILE = re.compile(
    r"(tim(e|ing)|second|created|date|duration|elapsed|host|cost|rate|latency|memory|peak|load|mtime|_at$|environment|machine|texts_|cache_problems)",
    re.I,
)
"""Keys of JSON files that differ from run to run, or with how vectors were obtained."""
OPERATIONS = """
import os, sys, threading, time
from pathlib import Path
done = []
def is_operation(event, arguments):
    if event == "open":
        return isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link")
def kill_at(last, seconds):
    def kill():
        time.sleep(seconds)
        os.kill(os.getpid(), 9)
    def hook(event, arguments):
        if is_operation(event, arguments):
            done.append(event)
            if len(done) == last:
                threading.Thread(target=kill).start() if seconds else kill()
    sys.addaudithook(hook)
def count_into(path):
    import atexit
    atexit.register(lambda: Path(path).write_text(str(len(done))))
    sys.addaudithook(lambda event, arguments: done.append(event) if is_operation(event, arguments) else None)
"""
"""Code for the process itself: what it does to files, and a kill at the n-th of these operations."""
PAGE = 4096
"""Bytes by which a file system in memory grows."""
SKIPPED = (".html", ".svg", ".log", ".lock", ".duckdb", ".wal")
"""Outputs that hold dates or pages of a database; what they are made from is compared."""


@dataclass(frozen=True)
class Command:
    """A command of Steelyard that writes below a folder."""

    name: str
    words: tuple[str, ...]
    """`{work}` is the folder that it writes into, `{data}` holds the input."""


COMMANDS = {
    "run": Command("run", ("run", "bm25", "dense", "-t", "{data}/task", "{data}/other", "-o", "{work}/results")),
    "build": Command(
        "build", ("build", "sample", "{data}/task", "-o", "{work}/set", "--queries", "40", "--docs", "200")
    ),
    "import": Command("import", ("results", "import", "{data}/published", "--warehouse", "{work}/warehouse")),
    "audit": Command("audit", ("audit", "{data}/task", "--against", "{data}/train.jsonl", "-o", "{work}/audit")),
    "pages": Command("pages", ("pages", "{data}/task", "-o", "{work}/pages", "--format", "json,md")),
}


def make_data(folder: Path) -> Path:
    """Write two retrieval tasks, training data and result files."""
    rng = random.Random(0)
    for name, documents in (("task", 400), ("other", 200)):
        (folder / name).mkdir(parents=True)
        texts = [" ".join(rng.choices(WORDS, k=30)) + f" number {n}" for n in range(documents)]
        rows = {
            "corpus": [{"_id": f"d{n}", "text": text} for n, text in enumerate(texts)],
            "queries": [{"_id": f"q{n}", "text": f"{texts[n][:40]} number {n}"} for n in range(60)],
        }
        for table, records in rows.items():
            content = "".join(json.dumps(row) + "\n" for row in records)
            (folder / name / f"{table}.jsonl").write_text(content, encoding="utf-8")
        lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in range(60))]
        (folder / name / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    training = (
        {"anchor": " ".join(rng.choices(WORDS, k=12)), "positive": " ".join(rng.choices(WORDS, k=30))}
        for _ in range(3000)
    )
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in training), encoding="utf-8")
    for model in range(12):
        for task in ("STSB", "ATEC", "T2Retrieval"):
            path = folder / "published" / f"owner__model-{model}" / "main" / f"{task}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            score = {"main_score": rng.random(), "hf_subset": "default", "languages": ["cmn-Hans"]}
            content = {"task_name": task, "mteb_version": "2.0.0", "dataset_revision": "a", "scores": {"test": [score]}}
            path.write_text(json.dumps(content), encoding="utf-8")
    return folder


@dataclass
class Bench:
    """Runs commands with a home and a work folder of their own."""

    data: Path
    root: Path
    seed: int = 1
    problems: list[str] = field(default_factory=list)
    runs: int = 0

    def start(self, command: Command, work: Path, **extra: str) -> subprocess.Popen[str]:
        """Start a command; the home folder is part of the work folder, so that it meets the same faults."""
        words = [word.format(work=work, data=self.data) for word in command.words]
        environment = {**os.environ, "STEELYARD_HOME": str(work / "home"), "HF_HUB_OFFLINE": "1", **extra}
        self.runs += 1
        code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + extra.pop("CODE", "")
        code += "import sys; sys.argv[0] = 'steelyard'; from steelyard.cli import main\n"
        code += "open(sys.argv.pop(), 'w').close(); sys.exit(main())"
        environment.pop("CODE", None)
        return subprocess.Popen(
            [sys.executable, "-c", code, *words, "--quiet", str(self.started(work))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=self.root,
        )

    def started(self, work: Path) -> Path:
        """Return the file that a process in this folder writes as soon as it has imported the command line."""
        return self.root / f"{work.name}.started"

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Wait for a command; return its exit code and what it wrote to standard error."""
        _, errors = process.communicate(timeout=300)
        if "Traceback (most recent call last)" in errors:
            self.problems.append(f"a traceback: {errors.strip().splitlines()[-1]}")
        return process.returncode, errors

    def undisturbed(self, command: Command, work: Path) -> dict[str, str]:
        """Run a command to its end and return the digests of its outputs."""
        code, errors = self.finish(self.start(command, work))
        if code:
            self.problems.append(f"{command.name}: the run after the fault ended with {code}: {errors[-300:]}")
        return digests(work)

    def check_whole(self, command: Command, work: Path, fault: str) -> None:
        """Report output files that are half-written."""
        self.problems += [f"{command.name}, {fault}: {path} is half-written" for path in half_written(work)]

    def check_equal(self, command: Command, fault: str, found: dict[str, str], expected: dict[str, str]) -> None:
        """Report outputs that differ from those of an undisturbed run."""
        for name in sorted(found.keys() | expected.keys()):
            if found.get(name) != expected.get(name):
                state = "is missing" if name not in found else "is not expected" if name not in expected else "differs"
                self.problems.append(f"{command.name}, {fault}: {name} {state}")


def outputs(work: Path) -> Iterator[Path]:
    """Yield the files that a command wrote, without hidden ones and the home folder."""
    for path in sorted(work.rglob("*")):
        inside = path.relative_to(work).parts
        if path.is_file() and inside[0] != "home" and not any(part.startswith(".") for part in inside):
            yield path


def half_written(work: Path) -> list[str]:
    """Return JSON and Parquet files that cannot be read to their end."""
    import pyarrow.parquet as pq

    broken = []
    listed = [path.read_text(encoding="utf-8") for path in work.glob("warehouse/warehouse.json")]
    for path in outputs(work):
        if path.parent.name == "warehouse" and path.suffix == ".parquet" and path.name not in "".join(listed):
            continue  # a part of an import that did not finish: nothing refers to it
        try:
            if path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.suffix == ".parquet":
                pq.read_table(path)
        except Exception:  # noqa: BLE001  (whatever it is, the file is broken)
            broken.append(str(path.relative_to(work)))
    return broken


def digests(work: Path) -> dict[str, str]:
    """Return a digest of every output, times and dates apart."""
    import pyarrow.parquet as pq

    found = {}
    for path in outputs(work):
        if path.suffix in SKIPPED or path.name == "progress.jsonl":
            continue
        content = path.read_bytes()
        if path.suffix == ".json":
            content = json.dumps(stable(json.loads(content)), sort_keys=True).encode()
        elif path.suffix == ".parquet" and "warehouse" not in path.parts:
            content = str(pq.read_table(path).to_pydict()).encode()
        elif path.suffix == ".parquet":
            content = str(pq.read_metadata(path).num_rows).encode()  # ids of an import differ
        text = content.decode("utf-8", "replace").replace(str(work), "WORK")
        text = re.sub(r"-[0-9a-f]{32}\b", "-ID", text)
        text = re.sub(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?\S*)?|\d+(\.\d+)? (ms|s|MB|CPU s)\b", "TIME", text)
        name = re.sub(r"[0-9a-f]{12,}|\d{6,}", "ID", str(path.relative_to(work)))
        found[name] = hashlib.sha256(text.encode()).hexdigest()
    return found


def stable(value: object) -> object:
    """Return JSON content without the values that differ from run to run."""
    if isinstance(value, dict):
        return {key: stable(inner) for key, inner in value.items() if not VOLATILE.search(str(key))}
    return [stable(inner) for inner in value] if isinstance(value, list) else value


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    """Mount a file system in memory of that size."""
    folder.mkdir()
    size = f"size={size_bytes}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True, capture_output=True)


def can_mount(root: Path) -> bool:
    """Return whether a small disk can be mounted here."""
    try:
        with small_disk(root / "probe", 2**16):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        shutil.rmtree(root / "probe", ignore_errors=True)


class Suite:
    """All faults for one command; each returns how many times it was injected."""

    def __init__(self, bench: Bench, command: Command) -> None:
        self.bench, self.command = bench, command
        self.number = 0
        self.expected = bench.undisturbed(command, self.work())
        start = time.perf_counter()
        again = self.work()
        counted = bench.root / f"{command.name}-operations"
        bench.finish(bench.start(command, again, CODE=OPERATIONS + f"count_into({str(counted)!r})\n"))
        self.seconds = time.perf_counter() - start
        self.operations = int(counted.read_text())
        bench.check_equal(command, "undisturbed twice", digests(again), self.expected)
        if not self.expected:
            bench.problems.append(f"{command.name}: no output")

    def work(self) -> Path:
        """Return a new folder."""
        self.number += 1
        folder = self.bench.root / f"{self.command.name}-{self.number}"
        folder.mkdir()
        return folder

    def _recover(self, work: Path, fault: str) -> None:
        self.bench.check_whole(self.command, work, fault)
        self.bench.check_equal(self.command, fault, self.bench.undisturbed(self.command, work), self.expected)

    def kills(self, count: int, kill: Callable[[Path, random.Random], bool]) -> int:
        """Kill the process, in every fifth folder three times in a row; only kills that met a running process count."""
        rng = random.Random(f"{self.bench.seed}:{self.command.name}:{kill.__name__}")
        done = place = missed = 0
        while done < count and missed < max(count, 5):
            work = self.work()
            for _ in range(min(3 if place % 5 == 4 else 1, count - done)):
                met = kill(work, rng)
                done, missed = done + met, missed + (not met)
            self._recover(work, f"kill -9 in folder {place}")
            shutil.rmtree(work, ignore_errors=True)
            place += 1
        return done

    def kill_later(self, work: Path, rng: random.Random) -> bool:
        """Kill at a moment of the run; return whether it was still running."""
        process = self.bench.start(self.command, work)
        time.sleep(self.seconds * rng.random())
        process.kill()
        process.communicate()
        return process.returncode == -signal.SIGKILL

    def kill_at_operation(self, work: Path, rng: random.Random) -> bool:
        """Kill at or shortly after a call that opens a file for writing, renames, removes or makes something.

        Such moments take a small part of the time, so that few of the other kills fall into them.
        """
        last = rng.randrange(1, max(2, self.operations + 1))
        code = OPERATIONS + f"kill_at({last}, {rng.choice((0.0, 0.0005, 0.002, 0.01))})\n"
        process = self.bench.start(self.command, work, CODE=code)
        process.communicate(timeout=300)
        return process.returncode == -signal.SIGKILL

    def signals(self) -> int:
        """End the process by SIGINT and SIGTERM: exit codes 130 and 143, one line, and a rerun that finishes."""
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            work = self.work()
            process = self.bench.start(self.command, work)
            while process.poll() is None and not self.bench.started(work).exists():
                time.sleep(0.005)  # Python itself answers a signal before that
            time.sleep(self.seconds * 0.6)
            ended = process.poll() is not None
            process.send_signal(number)
            found, errors = self.bench.finish(process)
            if not ended and found not in (code, -number, 0):  # by the signal itself while Python shuts down
                self.bench.problems.append(f"{self.command.name}: {number.name} ended with {found}: {errors[-200:]}")
            self._recover(work, number.name)
        return 2

    def full_disk(self, steps: int) -> int:
        """Let the disk be full at one size after the other, each page of it at most once; then give it room."""
        outputs = [path for path in self.bench.root.glob(f"{self.command.name}-1/**/*") if path.is_file()]
        pages = sum(-(-path.stat().st_size // PAGE) for path in outputs)
        sizes = sorted({1 + int(pages * (step + 0.5) / steps) for step in range(steps)})
        for size in sizes:
            with small_disk(self.bench.root / f"disk-{self.command.name}-{size}", size * PAGE) as disk:
                self.bench.finish(self.bench.start(self.command, disk))
                self.bench.check_whole(self.command, disk, f"full disk of {size} pages")
                remount(disk, f"size={4 * pages * PAGE + 2**26}")
                found = self.bench.undisturbed(self.command, disk)
                self.bench.check_equal(self.command, f"full disk of {size} pages", found, self.expected)
        return len(sizes)

    def read_only_disk(self) -> int:
        """Make the disk read-only: a clear error, and a rerun that works once it can be written."""
        with small_disk(self.bench.root / f"disk-{self.command.name}-ro", 2**28) as disk:
            remount(disk, "ro")
            code, errors = self.bench.finish(self.bench.start(self.command, disk))
            if code == 0 or not errors.strip():
                self.bench.problems.append(f"{self.command.name}: a read-only disk ended with {code}: {errors[-200:]}")
            remount(disk, "rw")
            found = self.bench.undisturbed(self.command, disk)
            self.bench.check_equal(self.command, "read-only disk", found, self.expected)
        return 1

    def several(self, processes: int) -> int:
        """Run the command several times at once in one folder: all may finish, and the outputs are right."""
        work = self.work()
        started = [self.bench.start(self.command, work) for _ in range(processes)]
        codes = [self.bench.finish(process) for process in started]
        if not any(code == 0 for code, _ in codes):
            self.bench.problems.append(
                f"{self.command.name}: none of {processes} processes finished: {codes[0][1][-300:]}"
            )
        self._recover(work, f"{processes} processes")
        return 1

    def clock(self) -> int:
        """Let the clock jump back by a day in the middle of the run, and forward by a year in another one."""
        for jump in (-86_400, 31_536_000):
            work = self.work()
            code = "import time; real = time.time; start = real()\n"
            code += f"time.time = lambda: real() + ({jump} if real() - start > {self.seconds / 2:.2f} else 0)\n"
            self.bench.finish(self.bench.start(self.command, work, CODE=code))
            self._recover(work, "a clock that jumps")
        return 2


def inject(
    names: list[str],
    kills: int,
    disks: int,
    root: Path,
    *,
    seed: int = 1,
    few: bool = False,
    only: Collection[str] = (),
) -> tuple[dict[str, dict[str, dict[str, int]]], Bench]:
    """Inject every fault into the commands; return how many of each, and the bench with its problems.

    `few` leaves out four processes and clocks that jump; `only` names the faults to inject (default: all).
    """
    bench = Bench(make_data(root / "data"), root, seed)
    mounts = can_mount(root)
    table: dict[str, dict[str, dict[str, int]]] = {}
    for name in names:
        suite = Suite(bench, COMMANDS[name])
        faults: dict[str, Callable[[], int]] = {
            "kill -9 at a moment": lambda suite=suite: suite.kills(-(-kills // 2), suite.kill_later),
            "kill -9 at a file operation": lambda suite=suite: suite.kills(kills // 2, suite.kill_at_operation),
            "SIGINT, SIGTERM": suite.signals,
            "two processes": lambda suite=suite: suite.several(2),
        }
        if not few:
            faults["four processes"] = lambda suite=suite: suite.several(4)
            faults["clock jumps"] = suite.clock
        if mounts and disks:
            faults["full disk"] = lambda suite=suite: suite.full_disk(disks)
            faults["read-only disk"] = suite.read_only_disk
        table[name] = {}
        for fault, work in faults.items():
            if only and fault not in only:
                continue
            before = len(bench.problems)
            count = work()
            row = {"count": count, "problems": len(bench.problems) - before, "seed": seed}
            table[name][fault] = row
            print(f"{name}, {fault}: {row}", *bench.problems[before:], sep="\n  ", flush=True)
    return table, bench


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40, help="kills of each command")
    parser.add_argument("--disks", type=int, default=8, help="sizes of a full disk for each command; 10000: every page")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--faults", nargs="+", metavar="FAULT", default=[], help="faults of the table (default: all)")
    parser.add_argument("--page", type=Path, help="a docs page to write the table into")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steelyard-faults-") as folder:
        table, bench = inject(
            arguments.only,
            arguments.kills,
            arguments.disks,
            Path(folder),
            seed=arguments.seed,
            only=arguments.faults,
        )
    if arguments.page:
        with changed_record() as record:  # fuzzing may store its counts meanwhile
            for name, row in table.items():
                record["injection"].setdefault(name, {}).update(row)
        write_page(arguments.page, record)
    print(f"{bench.runs} runs, {len(bench.problems)} problems")
    return int(bool(bench.problems))


if __name__ == "__main__":
    sys.exit(main())
