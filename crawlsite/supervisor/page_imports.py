"""Every view and template, imported before the first request for a page."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.template.loader import get_template


def import_pages() -> None:
    """Once, before processes are forked, and not in the first requests of each, behind which others
    would wait for a thread.
    """
    import_module(settings.ROOT_URLCONF)
    templates = settings.BASE_DIR / "templates"
    for template in sorted(templates.rglob("*.html")):
        get_template(str(template.relative_to(templates)))
