"""Images, sound and film: type and size are all that is told of them, and those stand in every
page's row.
"""

from __future__ import annotations

from crawling.web.documents.base import Document, DocumentSource

#: the registry sends the families image/, audio/ and video/ here
TYPES = ("application/ogg", "application/vnd.apple.mpegurl", "application/dash+xml")


def read(source: DocumentSource) -> Document:
    """Lead nowhere."""
    return Document()
