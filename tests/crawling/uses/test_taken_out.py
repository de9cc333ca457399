"""The product stands without the uses of crawls: each can be taken out as one folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.urls import URLResolver, get_resolver

from allocation.services import create_pool
from crawling.base.use import uses
from crawling.installation.events import CrawlEvent
from crawling.models import AllowedNetwork
from crawlsite.env import BASE_DIR
from crawlsite.replay import origin
from crawlsite.settings import USES
from tests.crawling.conftest import CLASSES
from tests.every_page import addresses, furnish
from tests.stack import database_url

README_LINES = 12


@pytest.fixture
def pages(transactional_db, make_site):
    """The addresses of all pages, of a house that has something of everything."""
    create_pool(name="default", classes=CLASSES)
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    values = furnish(make_site({}), by=User.objects.create_superuser("boss"))
    return addresses(values, asked=False)


def failing_without(names: list[str], pages: list[str]) -> list[str]:
    env = {
        **os.environ,
        "DATABASE_URL": database_url(str(connection.settings_dict["NAME"])),
        "DJANGO_SETTINGS_MODULE": "tests.crawling.uses.taking_out",
        "WITHOUT": ",".join(names),
    }
    done = subprocess.run(  # our own program
        [sys.executable, "-m", "tests.crawling.uses.taking_out", "boss"],
        cwd=BASE_DIR,
        env=env,
        input=json.dumps(pages),
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_server_of_the_replay_answers_without_the_exports(settings, monkeypatch):
    monkeypatch.setattr(origin, "keep_private", lambda: None)  # the mask is the whole process's
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != origin.EXPORTS]
    told = []

    body = b"".join(origin.make_application()({}, lambda status, headers: told.append(status)))

    assert told == ["404 Not Found"]
    assert b"the exports of this installation are taken out" in body


def test_a_use_whose_app_is_made_ready_again_receives_each_event_once():
    event, received = CrawlEvent(), []
    event.connect(received.append)
    event.connect(received.append)

    event("an alert")

    assert received == ["an alert"]


def test_every_page_of_the_crawler_is_there_without_any_use(pages):
    assert failing_without(list(USES), pages) == []


@pytest.mark.drill  # all of them at once are left out in each run of the suite
@pytest.mark.parametrize("name", USES)
def test_every_other_page_is_there_without_one_use(pages, name):
    assert failing_without([name], pages) == []


def test_addresses_of_pages_of_another_use_are_asked_for_as_they_may_be_missing():
    """`{% url … as name %}` is empty without the use; the tag alone, and `reverse`, raise."""
    of = dict(pages_of_uses(get_resolver().namespace_dict["crawling"][1].url_patterns))
    assert of["links"] == "link_check"
    files = [
        path
        for folder in ("crawling", "crawlsite", "experiments", "templates")
        for path in (BASE_DIR / folder).rglob("*.*")
        if path.suffix in {".html", ".py"}
    ]

    found = [
        f"{path.relative_to(BASE_DIR)}: {tag[0]}"
        for path in files
        for tag in NAMED.finditer(path.read_text())
        if (use := of.get(tag["name"])) and use not in path.parts
    ]

    assert found == []


#: `{% url 'crawling:name' … %}` without `as`, and calls that raise
NAMED = re.compile(
    r"""(?:\{% url ['"]|(?:reverse|redirect)\(["'])crawling:(?P<name>[\w-]+)['"]"""
    r"(?!(?:[^%]|%(?!\}))* as \w+ %\})"
)


def pages_of_uses(patterns):
    """Pairs of a page's name and its use."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from pages_of_uses(pattern.url_patterns)
        elif (module := pattern.callback.__module__).startswith("crawling.uses."):
            yield pattern.name, module.split(".")[2]


def test_each_folder_of_uses_is_installed_and_says_what_it_is():
    folder = BASE_DIR / "crawling" / "uses"

    assert set(USES) == {Path(use.path).name for use in uses()} - {"experiments"}
    for name in USES:
        lines = (folder / name / "README.md").read_text().splitlines()
        assert lines[0].startswith("# ")
        assert 3 <= len(lines) <= README_LINES, name
