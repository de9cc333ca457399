"""Fixtures that every app's tests share."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from dnscache import resolver
from tests.nameserver import serve_names
from tests.servers import serve_site


@pytest.fixture
def make_site():
    """Return a function that serves pages on loopback: `make_site({"/": "hello"}, address="127.0.0.2")`."""
    with ExitStack() as stack:
        yield lambda pages, **options: stack.enter_context(serve_site(pages, **options))


@pytest.fixture
def dns_server(settings):
    """A scripted name server that every look-up of this test goes to (see `tests/dns_scenarios.py`)."""
    with serve_names() as server:
        settings.DNS_SERVERS = (server.address,)
        resolver.forget()
        yield server
    resolver.forget()


@pytest.fixture
def uncollected_static(settings):
    """Let pages be rendered without `collectstatic` having been run first."""
    settings.WHITENOISE_AUTOREFRESH = True
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
