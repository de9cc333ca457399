"""Imports the modules that our programs import as they start: `tests.forked` forks them from
here.
"""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlsite.settings")
django.setup()

import crawling.dashboard.management.commands.resolve_ahead  # noqa: E402
import crawling.dashboard.management.commands.scheduler  # noqa: E402
import crawling.fetching.worker.rq_worker  # noqa: E402, F401
