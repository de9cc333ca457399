"""Smaller pictures of a screenshot, made of it: another screenshot would take ten times as long."""

from __future__ import annotations

from io import BytesIO

from PIL.JpegImagePlugin import JpegImageFile

JPEG_QUALITY = 70


def smaller(picture: bytes, part: int) -> bytes:
    """A JPEG picture whose sides are `part` times smaller, 1, 2, 4 or 8: the decoder makes no
    larger one first.
    """
    image = JpegImageFile(BytesIO(picture))
    image.draft("RGB", (image.width // part, image.height // part))
    made = BytesIO()
    image.save(made, "JPEG", quality=JPEG_QUALITY)
    return made.getvalue()
