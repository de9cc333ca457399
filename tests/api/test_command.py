"""`manage.py api`: every endpoint as a command, as a user whose role holds."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from crawling.runs.crawls.creation import create_crawl
from crawlsite.management.commands.api import ask
from tests.api.conftest import SEED
from tests.api.test_access import description


@pytest.fixture
def boss(db):
    return User.objects.create_superuser("boss")


def printed(*words, **options):
    out = StringIO()
    call_command("api", *words, stdout=out, **options)
    return out.getvalue()


def test_an_order_is_made_edited_and_read_as_json(boss, order):
    made = json.loads(printed("POST", "/api/v1/crawls", json.dumps(order(SEED))))
    printed("PATCH", f"/api/v1/crawls/{made['id']}", '{"max_pages": 7}')

    assert json.loads(printed("GET", f"/api/v1/crawls/{made['id']}"))["order"]["max_pages"] == 7
    assert {entry.user for entry in LogEntry.objects.all()} == {boss}


def test_a_body_is_read_from_a_file(boss, order, tmp_path):
    (tmp_path / "order.json").write_text(json.dumps(order(SEED, name="from a file")))

    assert (
        json.loads(printed("POST", "/api/v1/crawls", f"@{tmp_path / 'order.json'}"))["name"]
        == "from a file"
    )
    for wrong in ("{", f"@{tmp_path / 'missing.json'}"):
        with pytest.raises(CommandError, match=r"no JSON|No such file"):
            printed("POST", "/api/v1/crawls", wrong)


def test_whoever_asks_may_do_what_the_role_may(boss, people, order):
    crawl = create_crawl(order(SEED))

    with pytest.raises(CommandError, match=r"403: .*permission"):
        printed("DELETE", f"/api/v1/crawls/{crawl.pk}", user="viewer")
    with pytest.raises(CommandError, match="no active user 'nobody at all'"):
        printed("GET", "/api/v1/crawls", user="nobody at all")


def test_an_error_is_a_sentence_and_a_status(boss, order):
    with pytest.raises(CommandError, match=r"404: There is no crawl 999\."):
        printed("POST", "/api/v1/crawls/999/start")
    for path in ("/api/v1/nothing", "/crawls/", "/healthz", "nonsense"):
        with pytest.raises(CommandError, match="no endpoint"):
            printed("GET", path)


def test_a_list_is_printed_to_its_end_a_line_each(boss, order):
    for number in range(3):
        create_crawl(order(f"http://127.0.0.1:{8900 + number}/", name=f"crawl {number}"))

    lines = printed("GET", "/api/v1/crawls?limit=1&sort=name", all=True).splitlines()

    assert [json.loads(line)["name"] for line in lines] == ["crawl 0", "crawl 1", "crawl 2"]
    with pytest.raises(CommandError, match="is no list"):
        printed("GET", "/api/v1/overview", all=True)


def readable():
    """The lists and reports that need no id of something."""
    return sorted(
        path
        for path, methods in description()["paths"].items()
        if "get" in methods and "{" not in path
    )


#: of those that must be asked for something
QUERIES = {
    "/api/v1/url-history": "url=http://a.test/",
    "/api/v1/pages": "q=manual",
    "/api/v1/named-things": "q=manual",
    "/api/v1/search": "q=manual",
}


def test_the_command_is_told_what_a_program_is_told(boss, client):
    client.force_login(boss)

    for path in readable():
        address = f"{path}?{QUERIES.get(path, '')}"
        inside, outside = ask("GET", address, user=boss), client.get(address)
        statuses = inside.status_code, outside.status_code
        assert (path, *statuses) == (path, 200, 200)
        assert inside["Content-Type"] == outside["Content-Type"], path
        assert set(json.loads(inside.content)) == set(outside.json()), path
