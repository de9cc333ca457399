"""Create a crawl with one run from WARC and WACZ files, completely or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from crawling.archive.checkpoint_directory import CheckpointManifest, CheckpointWriter
from crawling.base.errors import CrawlError
from crawling.frontier.change.checkpoint_rows import OWN, SHARED
from crawling.installation.run_log import write
from crawling.machine.sandbox import ProgramLimit, ProgramSandbox, SandboxLimits
from crawling.machine.work_folders import work_folder
from crawling.models import Run
from crawling.uses.checkpoints.checkpoint_import import import_checkpoint
from crawling.uses.imports.foreign_files import printable
from crawling.uses.imports.translator import NOTED_SECONDS

PROGRAM = "crawling.uses.imports.translator"
#: the most bytes that the written files may have: a multiple of the size of the read files, and a
#: number of bytes for small files. A text may have been packed to a hundredth, but its records are
#: packed again
FOLDER_TIMES, LEAST_FOLDER_BYTES = 10, 10 * 1024**3
TRANSLATED = ("hosts", "archive", "queues", "urls", "pages", "further")
COUNTED = ("counts", "statuses")
#: the parts of a checkpoint of which the files contain nothing
EMPTY = [part.name for part in (*SHARED, *OWN) if part.name not in (*TRANSLATED, *COUNTED)]
ENDS = {"s": range(400), "f": range(400, 1000)}


class ImportTrouble(CrawlError):
    """The files cannot be imported, or a user has cancelled the import."""


@dataclass(frozen=True)
class ImportResult:
    run: Run
    pages: int
    #: the number of records that are not in the run, by reason
    left_out: dict[str, int]
    #: the number of records with a fault, by fault
    remarks: dict[str, int]


def import_files(
    files: Sequence[Path],
    *,
    name: str,
    namespace: UUID,
    by: User | None,
    note: Callable[[int, int], None] = lambda read, answers: None,
    confirm: Callable[[ImportResult], None] = lambda result: None,
) -> ImportResult:
    """Create a crawl with this name and one run.

    note: called each second with the bytes of the files read so far, and the number of answers in
    them. confirm: called as the last step of the transaction that creates the run. If one of them
    raises an error, the import ends, and nothing of it is left. Raises ImportTrouble,
    CheckpointTrouble or BadOrder.
    """
    made: list[ImportResult] = []
    try:
        with work_folder() as work:
            folder = work.path / "checkpoint"
            writer = CheckpointWriter(folder)
            said = _translate(files, folder, namespace, note, work.held_by)
            if not said["pages"]:
                raise ImportTrouble(
                    _nothing_imported_sentence(files, _printable_counts(said["left_out"]))
                )
            _write_run(writer, folder, said, name, [printable(file.name) for file in files])

            def store_result(run: Run) -> None:
                made.append(_import_result(run, said))
                confirm(made[0])

            import_checkpoint(folder, by=by, confirm=store_result)
    except OSError as error:
        raise ImportTrouble(f"{error.filename}: {error.strerror}.") from error
    return made[0]


def _import_result(run: Run, said: dict[str, Any]) -> ImportResult:
    left_out, remarks = _printable_counts(said["left_out"]), _printable_counts(said["remarks"])
    write(run.pk, f"{said['pages']:,} pages imported. {faults_in_words(left_out, remarks)}".strip())
    return ImportResult(run, said["pages"], left_out, remarks)


def faults_in_words(left_out: dict[str, int], remarks: dict[str, int]) -> str:
    """Sentences about records that are not in the run, or have faults. Empty if there are none."""
    said = {"Not imported": left_out, "Imported, but not as they should be": remarks}
    return " ".join(
        f"{what}: {'; '.join(f'{n:,} that {why}' for why, n in sorted(counts.items()))}."
        for what, counts in said.items()
        if counts
    )


def _printable_counts(counts: dict[str, int]) -> dict[str, int]:
    """The counts with names that PostgreSQL can store and pages can show."""
    return {printable(why): int(count) for why, count in counts.items()}


def _nothing_imported_sentence(files: Sequence[Path], left_out: dict[str, int]) -> str:
    names = ", ".join(printable(file.name) for file in files)
    faults = faults_in_words(left_out, {})
    return f"{names}: there are no answers that can be imported. {faults}".strip()


def _translate(
    files: Sequence[Path],
    folder: Path,
    namespace: UUID,
    note: Callable[[int, int], None],
    held_by: int,
) -> dict[str, Any]:
    """Translate the files. A sandbox reads them, since strangers wrote them."""
    arguments = [str(folder), str(namespace), *(str(file.resolve(strict=True)) for file in files)]

    def tell(line: bytes) -> None:
        read, answers = map(int, line.split()) if line else (0, 0)
        note(read, answers)

    most = LEAST_FOLDER_BYTES + FOLDER_TIMES * sum(file.stat().st_size for file in files)
    limits = SandboxLimits(
        memory_bytes=1024**3,
        cpu_seconds=5 * 60 * 60,
        seconds=6 * 60 * 60,
        output_bytes=most,
        folder_bytes=most,
    )
    sandbox = ProgramSandbox(PROGRAM, *arguments, limits=limits, folder=folder)
    end = sandbox.follow(tell, every_seconds=NOTED_SECONDS, kept_open=[held_by])
    if end.refusal:
        raise ImportTrouble(printable(end.refusal))
    if end.excess is ProgramLimit.OUTPUT:
        raise ImportTrouble(f"The data read from the files take more than {most:,} bytes.")
    if end.excess or end.fault:
        raise ImportTrouble("The files could not be read within the limits of time and memory.")
    summary: dict[str, Any] = json.loads((folder / "summary.jsonl").read_text())
    return summary


def _write_run(
    writer: CheckpointWriter, folder: Path, said: dict[str, Any], name: str, names: list[str]
) -> None:
    now = timezone.now().isoformat()
    parts = {part: _write_part(writer, folder, part) for part in TRANSLATED}
    parts |= {part: _write_rows(writer, part, []) for part in EMPTY}
    parts["counts"] = _write_rows(writer, "counts", [_counts_of_run(said)])
    parts["statuses"] = _write_rows(writer, "statuses", _status_counts(said["statuses"]))
    archived = [json.loads(line)["name"] for line in _lines_of_part(folder, "archive")]
    for one in archived:
        writer.take_archive(one)
    order = {"name": name, "seeds": [said["seed"]], "claim": {}}
    facts = {
        "number": 1,
        "state": "finished",
        "reason": f"Imported from {', '.join(names)}.",
        "started_at": said["first"],
        "finished_at": said["last"],
    }
    writer.finish(CheckpointManifest(order, facts, now, {}, parts, archived).as_text())


def _write_part(writer: CheckpointWriter, folder: Path, name: str) -> dict[str, Any]:
    first = json.loads(next(_lines_of_part(folder, name), "{}"))
    return {"rows": writer.write_lines(name, _lines_of_part(folder, name)), "columns": list(first)}


def _write_rows(
    writer: CheckpointWriter, name: str, rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    count = writer.write_lines(name, map(json.dumps, rows))
    return {"rows": count, "columns": list(rows[0]) if rows else []}


def _lines_of_part(folder: Path, name: str) -> Iterator[str]:
    with (folder / f"{name}.jsonl").open() as file:
        yield from (line.rstrip("\n") for line in file)


def _counts_of_run(said: dict[str, Any]) -> dict[str, Any]:
    begun = datetime.fromisoformat(said["first"]).replace(second=0, microsecond=0)
    counts = {name: said[name] for name in ("succeeded", "failed", "duplicate", "bytes")}
    both = {"discovered": said["pages"], "fetched": said["pages"]}
    return {"process_number": 0, "minute": begun.isoformat(), **counts, **both}


def _status_counts(counts: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {"state": state, "status": int(status), "urls": urls}
        for status, urls in counts.items()
        for state, statuses in ENDS.items()
        if int(status) in statuses
    ]
