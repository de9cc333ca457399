"""Pages that do something while they are fetched."""

from __future__ import annotations

from django.db import connections


def acting(do):
    """A page that calls a function when it is fetched."""

    def page(request):
        try:
            do()
        finally:
            connections.close_all()  # the site's thread has a connection of its own
        return 200, {"Content-Type": "text/html"}, "x"

    return page
