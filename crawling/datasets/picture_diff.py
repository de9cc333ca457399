"""The differences between the screenshots of two stored pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import NamedTuple

from crawling.archive.reader import packed_record, rendition_of
from crawling.base.errors import ArchiveTrouble
from crawling.machine.sandbox import ProgramSandbox, SandboxLimits
from crawling.models import Page

MIB = 1024 * 1024
LIMITS = SandboxLimits(memory_bytes=512 * MIB, cpu_seconds=10, seconds=30.0, output_bytes=8 * MIB)
PROGRAM = "crawling.datasets.picture_program"
#: left, top, width and height, in pixels
Region = Sequence[int]


class PictureDiff(NamedTuple):
    #: the share of the pixels that differ, of those that are compared
    share: float
    width: int
    height: int
    #: the later picture with the different pixels marked, JPEG
    marked: bytes


def share_in_words(share: float) -> str:
    """A share of pixels in per cent, with two places."""
    percent = 100 * share
    return "less than 0.01 %" if 0 < percent < 0.01 else f"{percent:.2f} %"


def picture_diff(old: Page, new: Page, ignored: Sequence[Region] = ()) -> PictureDiff:
    """Compare the screenshots of two pages, which both have one, outside of the ignored regions.
    Raises ArchiveTrouble.
    """
    with TemporaryFile() as given:
        lengths = []
        for page in (old, new):
            shown = rendition_of(page, "view")
            if shown is None:
                raise ArchiveTrouble("No browser has made a picture of one of the pages.")
            lengths.append(sum(map(given.write, packed_record(shown))))
        given.seek(0)
        regions = json.dumps([list(region) for region in ignored])
        end = ProgramSandbox(PROGRAM, *map(str, lengths), regions, limits=LIMITS).run(given)
    if end.refusal:
        raise ArchiveTrouble(end.refusal)
    if end.excess or end.fault:
        raise ArchiveTrouble("The pictures could not be compared within the limits for it.")
    facts, _, marked = end.output.partition(b"\n")
    return PictureDiff(**json.loads(facts), marked=marked)
