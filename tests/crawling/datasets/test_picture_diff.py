"""Two screenshots are compared within limits, with their differences marked."""

import gzip
from io import BytesIO

import pytest
from PIL import Image, ImageDraw

from crawling.base.errors import ArchiveTrouble
from crawling.datasets import picture_diff as diffs
from crawling.datasets.picture_diff import picture_diff, share_in_words
from crawling.datasets.picture_program import (
    TOLERANCE,
    changed_pixels,
    changed_share,
    marked_picture,
)

WHITE = Image.new("RGB", (100, 50), "white")


def with_box(*box, color="black", size=(100, 50)):
    picture = Image.new("RGB", size, "white")
    ImageDraw.Draw(picture).rectangle(box, fill=color)
    return picture


def test_the_share_of_changed_pixels_is_counted():
    mask = changed_pixels(WHITE, with_box(0, 0, 9, 9))
    assert changed_share(mask, []) == 100 / 5000
    assert changed_share(changed_pixels(WHITE, WHITE), []) == 0


def test_small_differences_of_a_colour_are_noise_of_compression():
    grey = 255 - TOLERANCE
    assert changed_share(changed_pixels(WHITE, Image.new("RGB", (100, 50), (grey,) * 3)), []) == 0
    grey -= 1
    assert (
        changed_share(changed_pixels(WHITE, Image.new("RGB", (100, 50), (255, grey, 255))), []) == 1
    )


def test_ignored_regions_count_neither_as_changed_nor_as_compared():
    mask = changed_pixels(WHITE, with_box(0, 0, 9, 9))
    assert changed_share(mask, [(0, 0, 10, 5), (0, 0, 10, 5)]) == 50 / 4950
    assert changed_share(changed_pixels(WHITE, with_box(0, 0, 9, 9)), [(0, 0, 100, 50)]) == 0


def test_a_part_that_only_one_picture_has_differs():
    taller = Image.new("RGB", (100, 60), "white")
    assert changed_share(changed_pixels(WHITE, taller), []) == pytest.approx(10 / 60)


def test_differences_are_marked_by_a_colour_and_the_rest_is_faded():
    new = with_box(0, 0, 9, 9)
    mask = changed_pixels(WHITE, new)
    marked = marked_picture(new, mask, [(50, 10, 20, 20)])
    red, green, _ = marked.getpixel((5, 5))
    assert red > green + 50
    assert marked.getpixel((90, 40)) == (255, 255, 255)
    assert marked.getpixel((50, 10)) != (255, 255, 255)


@pytest.fixture
def compare(monkeypatch):
    """Return a function that compares two pictures as a page's records would have them."""
    monkeypatch.setattr(diffs, "rendition_of", lambda content, kind: content)
    monkeypatch.setattr(diffs, "packed_record", lambda content: [packed(content)])
    return picture_diff


def packed(content):
    head = f"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: {len(content)}\r\n\r\n"
    return gzip.compress(head.encode() + content + b"\r\n\r\n")


def jpeg(picture, **options):
    kept = BytesIO()
    picture.save(kept, options.pop("format", "JPEG"), **options)
    return kept.getvalue()


def test_stored_pictures_are_compared_by_a_program_of_its_own(compare):
    found = compare(jpeg(WHITE), jpeg(with_box(0, 0, 49, 49)), [(0, 0, 10, 50)])
    assert found.share == pytest.approx(40 / 90, abs=0.02)
    assert (found.width, found.height) == (100, 50)
    assert Image.open(BytesIO(found.marked)).size == (100, 50)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "damaged"),
        (jpeg(WHITE)[:200], "damaged"),
        (jpeg(WHITE, format="PNG"), "damaged"),
        (jpeg(Image.new("L", (8000, 8000))), "more than 16,000,000 pixels"),
    ],
)
def test_a_picture_that_is_none_or_too_large_is_refused(compare, content, sentence):
    with pytest.raises(ArchiveTrouble, match=sentence):
        compare(jpeg(WHITE), content)


@pytest.mark.parametrize(
    ("share", "words"), [(0, "0.00 %"), (0.00001, "less than 0.01 %"), (0.12345, "12.35 %")]
)
def test_shares_are_told_in_per_cent(share, words):
    assert share_in_words(share) == words
