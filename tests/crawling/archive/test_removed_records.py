"""The filler in the place of removed records takes exactly their room, and is a record."""

from __future__ import annotations

import io
import zlib
from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from crawling.archive.removed_records import MOST_IN_BLOCK, filler_member
from crawling.archive.rewriting import joined_ranges

IDENTITY = "<urn:uuid:9aaf4a34-9df2-49d8-98b5-ee0ecd7f3f09>"
#: the shortest record with a header as small as any of ours is longer
LEAST = 240
RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)))


@given(st.integers(LEAST, 4 * MOST_IN_BLOCK))
@example(LEAST)
@example(MOST_IN_BLOCK + 23)
@example(MOST_IN_BLOCK + 24)
@example(2 * MOST_IN_BLOCK + 28)
@example(2 * MOST_IN_BLOCK + 29)
def test_removed_records_leave_one_record_of_their_length(length):
    found = b"".join(filler_member(length, IDENTITY, datetime.now(UTC)))

    assert len(found) == length
    machine = zlib.decompressobj(31)
    machine.decompress(found)
    assert machine.eof
    assert not machine.unused_data
    ((kind, content),) = [
        (record.rec_type, record.content_stream().read())
        for record in ArchiveIterator(io.BytesIO(found))
    ]
    assert kind == "metadata"
    assert not content.strip(b"\0")


@given(RANGES)
def test_ranges_are_joined_in_order_with_gaps_between_them(begins):
    ranges = [(begin, begin + length) for begin, length in begins]
    found = joined_ranges(ranges)

    assert places(found) == places(ranges)
    assert all(one[1] < other[0] for one, other in pairwise(found))


def places(ranges):
    return {at for one in ranges for at in range(*one)}
