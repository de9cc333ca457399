"""Fixtures that every app's tests share."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from django.conf import settings as project_settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.transaction import Atomic
from django.template import Template
from django.test import TransactionTestCase, override_settings
from django.test.utils import instrumented_test_render
from hypothesis import settings as hypothesis_settings
from psycopg.pq import TransactionStatus

from allocation.services import transaction
from crawling.frontier import run_lock
from crawling.runs.crawls import rejudgement
from crawlsite.api import admission
from crawlsite.health import report as health
from crawlsite.middleware import shared_refreshes as refreshes
from crawlsite.supervisor.preload import import_pages
from dnscache import resolver
from tests.crawling.buckets import serve_bucket
from tests.databases import kept_connections, rolled_back
from tests.databases.emptying import empty_database
from tests.databases.shared_rows import SHARED
from tests.databases.template import migrated_template
from tests.forked import share_server
from tests.nameserver import serve_names
from tests.processes.starting import compiled_meanwhile, dealt
from tests.servers import serve_site

#: A machine that is busy is no fault of what is tested. A push is judged by the same examples each
#: time; the drill draws new ones.
DRILL = os.environ.get("DRILL") == "1"
hypothesis_settings.register_profile(
    "suite", deadline=None, max_examples=100 if DRILL else 40, derandomize=not DRILL
)
hypothesis_settings.load_profile("suite")

#: before Django's environment of tests replaces it
render = Template._render

#: what takes long, mostly by waiting: every other worker begins with its part of that (`dealt`)
LONG = (
    "crawlsite/",
    "webs/",
    "browser/test_every_page",
    "browser/crawls/test_story",
    "kill_anywhere/",
    "races/",
    "mutants/",
    "api/test_schemathesis",
    "test_roles",
)


#: what `make quick` leaves out, beside the tests that are marked `slow`: folders whose tests start
#: processes, a browser or whole crawls, and fixtures that do, or that serve a site or names
SLOW_PLACES = (
    "crawlsite/",
    "browser/",
    "webs/",
    "kill_anywhere/",
    "races/",
    "mutants/",
    "dnscache/preresolver/",
    "crawling/archive/",
    "crawling/uses/checkpoints/",
    "crawling/previews/",
    "crawling/fetching/pipeline/",
    "crawling/fetching/preresolver/",
    "crawling/machine/",
    "crawling/fetching/shift/",
    "crawling/test_closed_directories",
    "crawling/fetching/worker/",
    "api/",
    "test_roles",
    "test_every_page",
)
SLOW_FIXTURES = frozenset(
    {"crawl_once", "crawl_to_the_end", "work_off", "make_site", "make_web", "dns_server"}
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `make quick` leaves out, leave out full sizes, begin with what takes long."""
    for item in items:
        place, fixtures = item.nodeid.removeprefix("tests/"), getattr(item, "fixturenames", ())
        if place.startswith(SLOW_PLACES) or not SLOW_FIXTURES.isdisjoint(fixtures):
            item.add_marker(pytest.mark.slow)
    if not DRILL:
        left_out = {item for item in items if item.get_closest_marker("drill")}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items[:] = dealt(items, LONG, max(1, config.option.processes))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Imported modules and collected tests stay to the end: no look for garbage needs to go through
    them again. Looks at what tests make took a twentieth of their time.

    Pages are imported and compiled once, and not by each process that is forked.
    """
    if session.config.option.processes > 1:
        if any(item.get_closest_marker("slow") for item in session.items):
            share_server()
        import_pages()
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_unconfigure() -> None:
    """Some extension modules take frozen objects for a leak as the interpreter ends."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Nothing of what is imported and collected is garbage, and to look for some takes a quarter of
    the time.
    """
    gc.disable()
    if session.config.option.processes > 1:
        with compiled_meanwhile(session.config):
            return (yield)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Migrate before the first test, which has two minutes: a busy machine may take longer."""
    if not session.config.option.collectonly and any(map(uses_database, session.items)):
        migrated_template()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """A test that its limit of time has broken off in a statement leaves a connection on which no
    other can be sent, neither to roll back nor to empty the database.
    """
    current = connection.connection
    if current and current.info.transaction_status == TransactionStatus.ACTIVE:
        current.cancel_safe()
        rolled_back.close(connection)


def uses_database(item: pytest.Item) -> bool:
    fixtures = {"db", "transactional_db", "live_server"}
    return not fixtures.isdisjoint(getattr(item, "fixturenames", ())) or bool(
        item.get_closest_marker("django_db")
    )


@pytest.fixture(scope="session", autouse=True)
def static_files_as_they_lie() -> Iterator[None]:
    """Pages name static files as they lie in the project: tests need no `collectstatic`."""
    project_settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    with override_settings(STORAGES={**project_settings.STORAGES, "staticfiles": plain}):
        yield


@pytest.fixture(scope="session", autouse=True)
def passwords_hashed_at_once() -> Iterator[None]:
    """Django's own hasher takes a quarter of a second for each password, on purpose."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def rendered_as_in_the_product(django_test_environment) -> Iterator[None]:
    """Django's environment of tests keeps a copy of all that each template was given. Few tests ask
    for it (`contexts`): the others read the page. It took a twentieth of each request.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", render)
        yield


@pytest.fixture
def contexts(monkeypatch) -> None:
    """Answers of Django's client say what their templates were given."""
    monkeypatch.setattr(Template, "_render", instrumented_test_render)


@pytest.fixture(scope="session", autouse=True)
def nobody_gets_what_another_looked_at() -> Iterator[None]:
    """Tests change rows between two looks, and have a machine that is busy all the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refreshes, "MOST_SECONDS", 0)
        patch.setattr(refreshes, "UNWRITTEN_SECONDS", 0)
        patch.setattr(admission, "SHARE", 1)
        patch.setattr(health, "KEPT_SECONDS", 0)
        patch.setattr(rejudgement, "BUDGET_SECONDS", 60)
        yield


@pytest.fixture(autouse=True)
def transactions_as_long_as_the_test(request, monkeypatch):
    """Most tests are one transaction, in which a time limit set for a part of it (SET LOCAL) holds
    on to the end: a page that takes long to render on a busy machine would end it.
    """
    if not is_transactional(request):
        monkeypatch.setitem(transaction.LIMITS, "idle_in_transaction_session_timeout", "5min")
        monkeypatch.setattr(run_lock, "LONGEST_IDLE", "5min")


def is_transactional(request: pytest.FixtureRequest) -> bool:
    """Whether the test commits."""
    marker = request.node.get_closest_marker("django_db")
    return "transactional_db" in request.fixturenames or bool(
        marker and marker.kwargs.get("transaction")
    )


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix) -> None:
    """pytest-django's last word before it makes the test database."""
    connection.settings_dict["TEST"]["TEMPLATE"] = migrated_template()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup) -> Iterator[None]:
    """The last fixture to be there before the first test with a database."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseWrapper, "get_new_connection", kept_connections.take_or_open)
        patch.setattr(DatabaseWrapper, "_close", kept_connections.keep_or_close)
        yield
    kept_connections.KEPT.close()


@pytest.fixture(scope="session", autouse=True)
def emptied_quickly() -> Iterator[None]:
    """A test that committed leaves the database as Django's flush would, sooner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            TransactionTestCase, "_fixture_setup", classmethod(lambda cls: SHARED.remove())
        )
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: empty_database())
        yield


@pytest.fixture(scope="session", autouse=True)
def rolled_back_as_if_committed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Atomic, "__exit__", rolled_back.exit_and_run)
        patch.setattr(BaseDatabaseWrapper, "on_commit", rolled_back.run_or_wait)
        patch.setattr(BaseDatabaseWrapper, "close", rolled_back.close_if_it_may)
        yield


@pytest.fixture(scope="session")
def archives(tmp_path_factory) -> Iterator[Path]:
    """Folders for the archives of tests. (`mktemp` would look at all of them for each next one.)"""
    folder = tmp_path_factory.mktemp("archives")
    return (folder / str(number) for number in count(1))


@pytest.fixture(autouse=True)
def archive_of_its_own(settings, archives):
    """Each test has an archive directory of its own: runs are numbered anew in every test
    database."""
    settings.ARCHIVE_DIR = next(archives)
    if SHARED.archive:
        shutil.copytree(SHARED.archive, settings.ARCHIVE_DIR)
    else:
        settings.ARCHIVE_DIR.mkdir()


@pytest.fixture(scope="session")
def bucket_servers(tmp_path_factory) -> Iterator[Callable[[str], int]]:
    """Return a function for the port of an S3 server: `bucket_servers("moto")`."""
    with ExitStack() as stack:

        @cache
        def port_of(kind: str) -> int:
            return stack.enter_context(serve_bucket(kind, tmp_path_factory.mktemp(kind)))

        yield port_of


@pytest.fixture
def make_site():
    """Return a function that serves pages on loopback: `make_site({"/": "hello"},
    address="127.0.0.2")`.
    """
    with ExitStack() as stack:
        yield lambda pages, **options: stack.enter_context(serve_site(pages, **options))


@pytest.fixture
def dns_server(settings):
    """A scripted name server that every look-up of this test goes to (see
    `tests/dns_scenarios.py`).
    """
    with serve_names() as server:
        settings.DNS_SERVERS = (server.address,)
        resolver.forget()
        yield server
    resolver.forget()
