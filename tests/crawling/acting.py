"""Something that happens while a page is fetched."""

from __future__ import annotations

from django.db import connections


def acting(do):
    """A page that does it."""

    def page(request):
        try:
            do()
        finally:
            connections.close_all()  # the site's thread has its own
        return 200, {"Content-Type": "text/html"}, "x"

    return page
