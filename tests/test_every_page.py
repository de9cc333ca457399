"""The promises of every page, each in full and before there is anything; those that need a browser
are in `tests/browser`.
"""

from __future__ import annotations

import re
import shlex

import pytest
from django.contrib.auth.models import User
from django.core.management import get_commands
from django.test import Client

from allocation.services import create_pool
from crawling.models import AllowedNetwork
from crawlsite.env import BASE_DIR
from crawlsite.management.commands.api import ask
from crawlsite.middleware.content_policy import STRICT
from tests.crawling.conftest import CLASSES, shared  # noqa: F401
from tests.crawling.pages import soup
from tests.every_page import addresses, furnish

#: a moment that is written out: belongs into a <time>, which says how long ago it is
WRITTEN_OUT = re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d")


@pytest.fixture(scope="module")
def values(shared):  # noqa: F811
    return shared.do(in_full, shared.serve({}))


def in_full(site):
    create_pool(name="default", classes=CLASSES)
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    return furnish(site, by=User.objects.create_superuser("boss"))


@pytest.fixture
def boss(values, db):
    return User.objects.get(username="boss")


def faults_of_times(page):
    for time in page.select("main time"):
        # a chart's numbers: the table's caption says that they are in UTC
        if time.find_parent("figure"):
            continue
        if not time.get("datetime") or not time.get("title", "").endswith("UTC"):
            yield f"a time without its moment: {time}"
    for time in page.select("main time, main select, main code, main pre"):
        time.extract()
    if found := WRITTEN_OUT.search(page.main.get_text(" ")):
        yield f"a moment that is written out: {found[0]}"


def faults_of_structure(page):
    if len(page.select("h1")) != 1:
        yield f"{len(page.select('h1'))} first headings"
    bars = [one.get("aria-label") for one in page.select("nav.tabs")]
    if len(bars) > 2:
        yield f"{len(bars)} levels of tabs: {', '.join(bars)}"
    yield from (
        f"a head without scope: {cell}" for cell in page.select("main th") if not cell.get("scope")
    )
    yield from (
        f"live, and not polite: {one.name}"
        for one in page.select("[aria-live]")
        if one["aria-live"] != "polite"
    )
    outside = [
        one.get("src") or one.get("href") or ""
        for one in page.select("script[src], link[href], img[src], iframe[src]")
    ]
    yield from (
        f"asks somebody else: {address}"
        for address in outside
        if re.match(r"(https?:)?//", address)
    )


def faults_of_commands(page, user):
    lines = (
        "\n".join(code.get_text() for code in page.select("details.commands code"))
        .replace("\\\n", "")
        .strip()
        .splitlines()
    )
    if not lines:
        yield "no command that does the same; give its template a block `command`"
    for line in lines:
        words = shlex.split(line.removeprefix("python "))
        if words[0] != "manage.py" or words[1] not in get_commands():
            yield f"no command: {line}"
        elif words[1:3] == ["api", "GET"] and "NUMBER" not in line:
            answer = ask("GET", words[3], user=user)
            if answer.status_code not in ((422,) if "nonsense" in line else (200, 202, 404)):
                yield f"{answer.status_code} from {line}"


def faults_of_policies(answer, page):
    """A strict policy blocks what stands in the page itself."""
    if answer.get("Content-Security-Policy") != STRICT:
        yield f"its policy is {answer.get('Content-Security-Policy')}"
    yield from (f"a style that is blocked: {one}" for one in page.select("[style], style"))
    yield from (
        f"a script that is blocked: {one}"
        for one in page.select("script:not([src])")
        if one.get("type") != "application/json"
    )
    handlers = (name for one in page.select("*") for name in one.attrs if name.startswith("on"))
    yield from (f"a handler that is blocked: {name}" for name in handlers)


def test_every_page_tells_times_is_built_soundly_and_names_its_command(values, boss):
    client, found = Client(), []
    client.force_login(boss)
    for address in addresses(values):
        answer = client.get(address, follow=True)
        page = soup(answer)
        if answer.status_code != 200 or page.main is None:
            faults = [f"no page: {answer.status_code}, {answer['Content-Type']}"]
        else:
            faults = [
                *faults_of_commands(page, boss),
                *faults_of_structure(page),
                *faults_of_policies(answer, page),
                *faults_of_times(page),
            ]
        found += [f"{address}: {fault}" for fault in faults]

    assert not found, "\n".join(found)


def test_every_page_of_a_crawl_tells_that_it_is_paused(values, boss):
    client = Client()
    client.force_login(boss)
    resting = addresses(values | {"crawl": values["resting"]})
    parts = [
        one
        for one in resting
        if one.startswith(f"/crawls/{values['resting']}/")
        and "?" not in one
        and "/pages/" not in one[:-6]
    ]
    answers = {one: client.get(one) for one in parts}

    assert len(parts) > 10
    silent = [
        one
        for one, answer in answers.items()
        if answer.status_code == 200 and not soup(answer).select("main .state-paused")
    ]
    assert silent == [f"/crawls/{values['resting']}/delete/"] or silent == []


@pytest.mark.parametrize(
    "address",
    [
        "/login/",
        "/admin/",
        "/admin/login/",
        "/api/v1/docs",
        "/api/v1/pools",
        "/healthz",
        "/no/such/page",
    ],
)
def test_whatever_else_is_answered_has_the_policy_too(values, boss, address):
    client = Client()
    client.force_login(boss)

    assert client.get(address)["Content-Security-Policy"] == STRICT


#: a number that is no row's and too large for most columns, and a text that no column takes
NONSENSE = ("9999999999999", "zzz'\"\0é")
READS = re.compile(
    r"""(?:GET\.get(?:list)?\(|asked_\w+\([\w.]+, |query\.get\(|_words\(query, )"(\w+)"""
)


def parameters_that_pages_read():
    folders = ("allocation", "crawling", "crawlsite", "dnscache", "experiments", "serving")
    sources = (path for folder in folders for path in (BASE_DIR / folder).rglob("*.py"))
    read = {name for path in sources for name in READS.findall(path.read_text())}
    return read | {"since", "until", "target"}


def test_no_page_fails_at_nonsense_in_its_address(values, boss):
    client, found = Client(raise_request_exception=False), []
    client.force_login(boss)
    # for a run that is not there each page says this alone
    names = parameters_that_pages_read() - {"run"}

    for address in addresses(values, asked=False):
        for nonsense in NONSENSE:
            status = client.get(address, dict.fromkeys(names, nonsense)).status_code
            if status >= 500:
                found.append(f"{status} from {address} at {nonsense!r}")

    assert {"after", "against", "other", "q", "sort"} <= names
    assert not found, "\n".join(found)
