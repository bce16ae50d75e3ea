"""Import result files into a warehouse: only what changed, in several processes, safe to interrupt.

    scan folders  ->  compare size and time with `files`  ->  read what differs  ->  write parts  ->  marts

Every batch of files is committed on its own, so an import that is killed resumes with the next batch. A file that
cannot be read is listed with its reason and does not stop the others.
"""

from __future__ import annotations

import gc
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing import current_process, get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from steelyard.encoders.devices.child_process import without_secrets
from steelyard.errors import DataError, UsageError
from steelyard.files import with_home
from steelyard.warehouse import marts
from steelyard.warehouse.buffer import FileRecord, RowBuffer
from steelyard.warehouse.manifest import Manifest, WarehouseFolder
from steelyard.warehouse.query import load_duckdb
from steelyard.warehouse.readers import BadFile, is_result_file, read_file
from steelyard.warehouse.tables import FACTS, FILES

BATCH = 25_000
"""Files that are committed together."""
CHUNK = 200
"""Files that a worker reads at a time."""
PROBE = 25
"""Files that are read first, to see how long the others take."""
PAYS = 2.0
"""Seconds of reading up to which starting processes costs more than it saves."""

Progress = Callable[[int, int], None]
"""Called with the number of files that were read and of all that will be."""


@dataclass
class ImportReport:
    """What an import did."""

    read: int = 0
    unchanged: int = 0
    removed: int = 0
    bad: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason of every file in the folders that cannot be read, also of those that an earlier import tried."""
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.read:,} files read, {self.unchanged:,} unchanged, {self.removed:,} removed, "
            f"{len(self.bad):,} unreadable, {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class Job:
    """One file to read: its new id, where it is, and what is stored about it."""

    file_id: int
    root: str
    path: str
    size: int
    mtime_ns: int
    digest: str | None = None


GUARD = 'in a script, call it below `if __name__ == "__main__":`'


def import_results(
    folders: Iterable[str | Path],
    warehouse: str | Path,
    *,
    workers: int | None = None,
    progress: Progress = lambda done, total: None,
) -> ImportReport:
    """Bring a warehouse up to date with folders of result files.

    Files that were removed from a folder since its last import are removed from the warehouse.
    """
    if getattr(current_process(), "_inheriting", False):
        # A worker imports the script that started it. It would wait for the lock of the very import it belongs to.
        raise UsageError("a worker process has started the import again", hint=GUARD)
    roots = [with_home(folder).absolute() for folder in folders]
    if not roots:
        raise UsageError("no folder to import", hint="steelyard results import DIR")
    for root in roots:
        if not root.exists():
            raise DataError("the folder does not exist", path=root, hint="check the path")
    load_duckdb()  # a missing package must not leave half a warehouse
    start = time.perf_counter()
    target, report = WarehouseFolder(warehouse), ImportReport()
    with target.writing():
        manifest = target.manifest()
        target.remove_unlisted(manifest)
        records = _records(target, manifest)
        jobs = _plan(roots, records, manifest.next_file_id, report)
        changed = bool(jobs) or report.removed > 0
        for first in range(0, len(jobs), BATCH):
            batch = jobs[first : first + BATCH]
            manifest = _read_batch(target, manifest, batch, records, report, workers, (first, len(jobs), progress))
        if changed or manifest.marts != marts.MARTS_VERSION:
            manifest = _store_files(target, manifest, records)
            if len(records) < manifest.next_file_id - 1 or marts.many_parts(manifest):
                manifest = marts.compact(target, manifest)  # otherwise every file that was ever read is current
            manifest = marts.build(target, manifest)
            target.commit(manifest)
            target.remove_unlisted(manifest)
    report.bad = sorted(
        (path, record.reason) for path, record in records.items() if record.reason and _below(path, roots)
    )
    report.seconds = time.perf_counter() - start
    return report


def _below(path: str, roots: Sequence[Path]) -> bool:
    return any(Path(path).is_relative_to(root) for root in roots)


def _records(target: WarehouseFolder, manifest: Manifest) -> dict[str, FileRecord]:
    """Return what is stored about every file, by its absolute path."""
    records = {}
    for name in manifest.parts.get("files", ()):
        for row in pq.read_table(target.path / name).to_pylist():
            records[f"{row['root']}/{row['path']}"] = FileRecord(**row)
    return records


def _plan(roots: Sequence[Path], records: dict[str, FileRecord], next_id: int, report: ImportReport) -> list[Job]:
    """Return the files to read; forget those that are gone."""
    jobs: list[Job] = []
    seen: set[str] = set()
    for root in roots:
        for path, size, mtime_ns in _scan(root):
            if path in seen:
                continue
            seen.add(path)
            record = records.get(path)
            if record and (record.size, record.mtime_ns) == (size, mtime_ns):
                report.unchanged += 1
                continue
            relative = os.path.relpath(path, root if root.is_dir() else root.parent)
            base = str(root if root.is_dir() else root.parent)
            jobs.append(Job(next_id + len(jobs), base, relative, size, mtime_ns, record.digest if record else None))
    for path in [path for path in records if path not in seen and _below(path, roots)]:
        del records[path]
        report.removed += 1
    return jobs


def _scan(root: Path) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of every result file below a folder, in order of names; do not follow links."""
    if root.is_file():
        status = root.stat()
        yield str(root), status.st_size, status.st_mtime_ns
        return
    pending = [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        folders = [entry.path for entry in ordered if entry.is_dir(follow_symlinks=False) and entry.name != ".git"]
        pending.extend(reversed(folders))
        for entry in ordered:
            if entry.is_file(follow_symlinks=False) and is_result_file(entry.name):
                status = entry.stat(follow_symlinks=False)
                yield entry.path, status.st_size, status.st_mtime_ns


def _read_batch(
    target: WarehouseFolder,
    manifest: Manifest,
    jobs: Sequence[Job],
    records: dict[str, FileRecord],
    report: ImportReport,
    workers: int | None,
    position: tuple[int, int, Progress],
) -> Manifest:
    """Read a batch of files, write its rows as parts and commit them."""
    done, total, progress = position
    paths = {table: target.new_part(table) for table in FACTS}
    writers = {table: pq.ParquetWriter(paths[table], schema, compression="zstd") for table, schema in FACTS.items()}
    rows = dict.fromkeys(FACTS, 0)
    try:
        for tables, chunk_records in _results(jobs, workers):
            for table, content in tables.items():
                batch = pa.ipc.open_stream(content).read_all()
                if batch.num_rows:
                    writers[table].write_table(batch)
                    rows[table] += batch.num_rows
            for path, record, same in chunk_records:
                if same:  # only the time of the file changed
                    record.file_id, record.format, record.reason = _facts_of(records[path])
                records[path] = record
                report.read += 1
            done += len(chunk_records)
            progress(done, total)
    finally:
        for writer in writers.values():
            writer.close()
    for table, part in paths.items():
        if rows[table]:
            manifest = manifest.with_part(table, part.name)
        else:
            part.unlink()
    manifest = replace(manifest, next_file_id=max(manifest.next_file_id, jobs[-1].file_id + 1), marts=0)
    manifest = _store_files(target, manifest, records)
    target.commit(manifest)
    return manifest


def _facts_of(record: FileRecord) -> tuple[int, str | None, str | None]:
    return record.file_id, record.format, record.reason


def _results(
    jobs: Sequence[Job], workers: int | None
) -> Iterator[tuple[dict[str, Any], list[tuple[str, FileRecord, bool]]]]:
    """Yield the tables and file records of each chunk, in order; in several processes if the files take long."""
    count = workers or os.cpu_count() or 1
    done, expected = 0, 0.0
    while done < len(jobs) and (count == 1 or expected <= PAYS):
        part, start = jobs[done : done + (CHUNK if done > PROBE else PROBE)], time.perf_counter()
        chunk = read_chunk(part)
        if done:  # the first files also load the facts about tasks
            expected = (time.perf_counter() - start) / len(part) * (len(jobs) - done - len(part))
        done += len(part)
        yield chunk
    if done < len(jobs):
        yield from _in_processes(jobs[done:], count)


def _in_processes(
    jobs: Sequence[Job], count: int
) -> Iterator[tuple[dict[str, Any], list[tuple[str, FileRecord, bool]]]]:
    """Yield the tables and file records of each chunk, in order, read by so many processes."""
    chunks = [jobs[first : first + CHUNK] for first in range(0, len(jobs), CHUNK)]
    # Workers make millions of objects without cycles: the search for cycles would be a tenth of their time.
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=gc.disable) as pool:
        window = 4 * count  # chunks under way: memory stays bounded
        for first in range(0, len(chunks), window):
            try:
                with without_secrets():  # processes start with the first calls
                    read = pool.map(read_chunk, chunks[first : first + window])
                yield from read
            except BrokenProcessPool as error:
                raise UsageError(
                    "a worker process of the import ended before its files were read",
                    hint=f"{GUARD}; otherwise use fewer workers: it may have had too little memory",
                ) from error


def read_chunk(jobs: Sequence[Job]) -> tuple[dict[str, Any], list[tuple[str, FileRecord, bool]]]:
    """Read files; return their rows as Arrow streams by table, and a record of each file."""
    buffer = RowBuffer()
    records = []
    for job in jobs:
        path = Path(job.root, job.path)
        record = FileRecord(job.file_id, job.root, job.path, job.size, job.mtime_ns, None, None, None)
        same = False
        try:
            content = path.read_bytes()
            record.digest = hashlib.blake2b(content, digest_size=16).hexdigest()
            same = record.digest == job.digest
            if not same:
                record.format = buffer.add_file(job.file_id, read_file(path, content))
        except OSError as error:
            record.reason = f"cannot be read: {error.strerror or error}"
        except BadFile as error:
            record.reason = str(error)
        records.append((str(path), record, same))
    return buffer.streams(), records


def _store_files(target: WarehouseFolder, manifest: Manifest, records: dict[str, FileRecord]) -> Manifest:
    path = target.new_part("files")
    columns = {name: [getattr(record, name) for record in records.values()] for name in FILES.names}
    pq.write_table(pa.table(columns, schema=FILES), path, compression="zstd")
    return manifest.with_only("files", path.name)
