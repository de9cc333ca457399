"""Every view and template, imported before the first request for a page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.template.loader import get_template
from django.template.utils import get_app_template_dirs


def import_pages() -> None:
    """Once, before processes are forked, and not in the first requests of each, behind which others
    would wait for a thread.
    """
    import_module(settings.ROOT_URLCONF)
    folders = [settings.BASE_DIR / "templates", *map(Path, get_app_template_dirs("templates"))]
    for folder in folders:
        own = folder.is_relative_to(settings.BASE_DIR)
        if not own or folder.is_relative_to(settings.BASE_DIR / ".venv"):
            continue  # of packages, which show few of theirs
        for template in sorted(folder.rglob("*.html")):
            get_template(str(template.relative_to(folder)))
