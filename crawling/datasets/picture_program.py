"""Compares the pictures in two records. `crawling.datasets.picture_diff` runs this module as a
program of its own, since a decoder of pictures reads strangers' bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from crawling.archive.unpacker import read_record
from crawling.base.errors import ArchiveTrouble
from crawling.machine.sandbox_program import run_sandboxed

#: left, top, width and height, in pixels
Region = Sequence[int]

MOST_PIXELS = 16_000_000
#: a colour of a pixel has changed if it differs by more, of 255: lossy compression changes the
#: pixels around a difference by less
TOLERANCE = 32
#: the part of white in the parts of a marked picture that have not changed, and the part of the
#: mark's colour in the others
FADED, MARKED = 0.6, 0.5
MARK, IGNORED = (214, 0, 110), (90, 90, 90)
#: the side of the square, in pixels, that marks a single changed pixel
MARK_PIXELS = 5
JPEG_QUALITY = 75


def read_picture(packed: bytes) -> Image.Image:
    """Raises ArchiveTrouble."""
    try:
        picture = Image.open(BytesIO(read_record(packed).payload), formats=["JPEG"])
        if picture.width * picture.height > MOST_PIXELS:
            raise ArchiveTrouble(f"The picture has more than {MOST_PIXELS:,} pixels.")
        return picture.convert("RGB")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ArchiveTrouble("The picture is damaged.") from error


def changed_pixels(old: Image.Image, new: Image.Image) -> Image.Image:
    """The pixels that differ, as white ones of a picture as large as the larger sides. A pixel that
    only one picture has differs.
    """
    size = max(old.width, new.width), max(old.height, new.height)
    red, green, blue = ImageChops.difference(
        _widened_picture(old, size), _widened_picture(new, size)
    ).split()
    greatest = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    mask = greatest.point([255 if value > TOLERANCE else 0 for value in range(256)])
    for picture in (old, new):
        alone = Image.new("L", size, 255)
        alone.paste(0, (0, 0, *picture.size))
        mask = ImageChops.lighter(mask, alone)
    return mask


def _widened_picture(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    if picture.size == size:
        return picture
    wide = Image.new("RGB", size, "white")
    wide.paste(picture)
    return wide


def changed_share(mask: Image.Image, ignored: Sequence[Region]) -> float:
    """The share of the white pixels among those outside of all regions. The regions become
    black.
    """
    outside = Image.new("L", mask.size, 255)
    for left, top, width, height in ignored:
        outside.paste(0, (left, top, left + width, top + height))
    compared = outside.histogram()[255]
    mask.paste(0, mask=ImageChops.invert(outside))
    return mask.histogram()[255] / compared if compared else 0.0


def marked_picture(new: Image.Image, mask: Image.Image, ignored: Sequence[Region]) -> Image.Image:
    """The new picture, faded, with its changed pixels in a colour, and frames of ignored
    regions.
    """
    new = _widened_picture(new, mask.size)
    grey, white = new.convert("L").convert("RGB"), Image.new("RGB", mask.size, "white")
    faded = Image.blend(grey, white, FADED)
    coloured = Image.blend(new, Image.new("RGB", mask.size, MARK), MARKED)
    marked = Image.composite(coloured, faded, mask.filter(ImageFilter.MaxFilter(MARK_PIXELS)))
    draw = ImageDraw.Draw(marked)
    for left, top, width, height in ignored:
        draw.rectangle((left, top, left + width - 1, top + height - 1), outline=IGNORED, width=2)
    return marked


def compare_pictures(old_length: str, new_length: str, ignored: str) -> None:
    """Write a line of JSON with the share and the size, and the marked picture. The standard input
    has both records. ignored: the regions as JSON.
    """
    records = [sys.stdin.buffer.read(int(length)) for length in (old_length, new_length)]
    old, new = map(read_picture, records)
    regions: list[Region] = json.loads(ignored)
    mask = changed_pixels(old, new)
    facts = {"share": changed_share(mask, regions), "width": mask.width, "height": mask.height}
    sys.stdout.buffer.write(json.dumps(facts).encode() + b"\n")
    marked_picture(new, mask, regions).save(sys.stdout.buffer, "JPEG", quality=JPEG_QUALITY)


if __name__ == "__main__":
    run_sandboxed(compare_pictures, ArchiveTrouble)
