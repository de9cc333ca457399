"""Read a state from a file, whatever its form. Pure."""

from __future__ import annotations

from allocation.whatif.bad_file import BadFile
from allocation.whatif.csv_file import from_csv
from allocation.whatif.json_file import from_json
from allocation.whatif.sandbox import Sandbox

MOST_BYTES = 2_000_000


def read_file(data: bytes) -> Sandbox:
    """The state in a JSON or CSV file. Raises BadFile."""
    if len(data) > MOST_BYTES:
        raise BadFile(f"The file has more than {MOST_BYTES // 1_000_000} MB; no state is so large.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_starts = data.rfind(b"\n", 0, error.start) + 1
        where = (data[: error.start].count(b"\n") + 1, error.start - line_starts + 1)
        raise BadFile("This is no text in UTF-8. Save it as UTF-8.", *where) from error
    if not text.strip():
        raise BadFile("The file is empty. Choose one that was exported here.")
    return from_json(text) if text.lstrip()[0] in "{[" else from_csv(text)
