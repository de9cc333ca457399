"""A real browser (Debian's Chromium) on the real site with the test's database, logged in by
role."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from allocation.services import create_pool
from crawling.models import AllowedNetwork
from crawlsite.administration.accounts import make_roles
from tests.browser.endless import endless_web
from tests.browser.watching import Watch
from tests.crawling.conftest import CLASSES
from tests.stack import BACKGROUND, SCHEDULER, WORKER, Stack, running_stack

#: the last keeps Chromium from requests to other servers
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.*",
]
#: within this a state is there, on a machine that is busy, too; a wait ends as soon as it is
PATIENCE_MS = 60_000
#: where the screenshots of failed tests lie
FAILURES = settings.STATE_DIR / "browser"
FAILED = pytest.StashKey[bool]()
Browse = Callable[..., Page]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Of the package, not of the session: while Playwright runs, Django takes its thread for one
    that must not use the database.
    """
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse("NO BROWSER: there is no Chromium here; `make browser` as root installs Debian's")
    expect.set_options(timeout=PATIENCE_MS)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch()
    yield watch
    assert watch.complaints == []


@pytest.fixture
def user_of(transactional_db) -> Callable[[str], User]:
    """Return a function that gives the user of a role, `viewer`, `operator` or `administrator`, and
    makes it the first time.
    """
    make_roles()

    def get(role: str) -> User:
        user, is_new = User.objects.get_or_create(
            username=role, defaults={"is_staff": role == "administrator"}
        )
        if is_new:
            user.groups.add(Group.objects.get(name=role))
        return user

    return get


@pytest.fixture
def browse(request, chromium, live_server, user_of, watch) -> Iterator[Browse]:
    """Return a function that opens a page of the site: `browse("operator", "/crawls/",
    color_scheme="dark")`; None: without a log-in.
    """
    contexts: list[BrowserContext] = []

    def open_page(role: str | None, address: str | None = None, **options) -> Page:
        options = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"} | options
        context = chromium.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        watch.over(context)
        if role:
            context.add_cookies([session_of(user_of(role), live_server.url)])
        page = context.new_page()
        if address:
            page.goto(address)
        return page

    yield open_page
    for number, context in enumerate(contexts):
        keep_or_close(
            context, f"{request.node.name}-{number}", request.node.stash.get(FAILED, False)
        )


def session_of(user: User, url: str) -> dict[str, str]:
    client = Client()
    client.force_login(user)
    return {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": url,
    }


def keep_or_close(context: BrowserContext, name: str, failed: bool) -> None:
    """Of a failed test, what the pages looked like is kept.

    (To trace every step would cost a third of these tests' time.)
    """
    if failed:
        stem = re.sub(r"\W+", "-", name)
        for number, page in enumerate(context.pages):
            page.screenshot(path=FAILURES / f"{stem}-{number}.png", full_page=True)
    context.close()


@pytest.fixture
def operator(browse) -> Page:
    return browse("operator")


@pytest.fixture
def pool(transactional_db):
    return create_pool(name="default", classes=CLASSES)


@pytest.fixture
def make_web(pool):
    """Return a function that serves a web that goes on until the test has seen enough of it:
    `make_web("127.0.0.2")`.
    """
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    with ExitStack() as webs:
        yield lambda address="127.0.0.1", **where: webs.enter_context(
            endless_web(address=address, **where)
        )


@pytest.fixture
def background_worker(pool, tmp_path) -> Iterator[Stack]:
    """A worker for background jobs."""
    with running_stack(tmp_path) as stack:
        stack.start(BACKGROUND)
        yield stack


@pytest.fixture
def workers(pool, tmp_path) -> Iterator[Stack]:
    """A scheduler and two workers at work."""
    with running_stack(tmp_path) as stack:
        for command in (SCHEDULER, WORKER, WORKER):
            stack.start(command)
        yield stack
