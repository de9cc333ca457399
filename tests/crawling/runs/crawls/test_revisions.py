"""How a crawl asks, and what it spares hosts, is edited while it runs: from the page, by JSON and
by command; a stale edit does nothing.
"""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from allocation.models import Event, Process
from crawling.base.errors import BadOrder, WrongState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.fetching_section import fetching_of
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from crawling.web.secret_headers import MASK
from tests.crawling.acting import acting
from tests.crawling.dashboard.orders.test_scope_pages import filled
from tests.crawling.fetching.pipeline.test_crawl_path import links

pytestmark = pytest.mark.usefixtures("contexts")

HERE = "http://127.0.0.1:8900/"
SECRETS = {
    "headers": {"X-Key": "first-secret", "Accept-Language": "de"},
    "credentials": {"127.0.0.1:8900": "me:first-word"},
}


@pytest.fixture
def crawl(order):
    return create_crawl(order(HERE, **SECRETS))


def test_a_secret_that_is_sent_back_masked_stays_and_another_takes_its_place_unseen(crawl):
    edited = edit_crawl(
        crawl,
        {
            "headers": {"X-Key": MASK, "X-New": "second-secret"},
            "credentials": {"127.0.0.1:8900": "me:second-word"},
        },
    )

    asked = fetching_of(edited)
    assert asked.headers == {"X-Key": "first-secret", "X-New": "second-secret"}
    assert asked.credentials == {"127.0.0.1:8900": "me:second-word"}
    changes = json.dumps(edited.revisions.get().changes)
    assert "X-New" in changes
    assert not any(
        secret in changes
        for secret in ("first-secret", "second-secret", "first-word", "second-word")
    )
    assert (
        edit_crawl(edited, {"credentials": {"127.0.0.1:8900": f"me:{MASK}"}}).revision
        == edited.revision
        == 2
    )


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"headers": {"X-Other": MASK}}, "headers", "which stands for what is not shown again"),
        (
            {"login_url": "http://b.test/", "login_fields": {"user": "me"}},
            "login_url",
            "must be on the site of a start URL",
        ),
        ({"login_url": HERE}, "login_fields", "belong together"),
        ({"posts": {HERE: "x"}}, "posts", "cannot be edited"),
        ({"proxy": {"http": "socks5://127.0.0.1:1080"}}, "proxy", "must be text"),
        ({"delay_factor": -1}, "delay_factor", "must be 0"),
        ({"deduplicate": "all"}, "deduplicate", "cannot be edited"),
    ],
)
def test_mistakes_are_told_beside_their_field_and_nothing_changes(crawl, fields, field, sentence):
    with pytest.raises(BadOrder) as refused:
        edit_crawl(crawl, {**fields, "max_pages": 3})

    assert sentence in refused.value.errors[field]
    crawl.refresh_from_db()
    assert (crawl.revision, crawl.max_pages) == (1, None)


def test_a_stale_edit_changes_nothing_at_the_bank_either(crawl):
    start_run(crawl)
    edit_crawl(crawl, {"max_pages": 5})
    told = Event.objects.count()

    with pytest.raises(WrongState, match="revision 2 holds"):
        edit_crawl(crawl, {"claim": {"fetch_slots": 1}}, revision=1)

    assert Event.objects.count() == told


def test_an_edit_that_another_overtakes_gives_the_bank_back_what_it_had(crawl, monkeypatch):
    start_run(crawl)
    before = Process.objects.get().max_claim
    monkeypatch.setattr(
        "crawling.runs.crawls.revisions.check_max",
        lambda job, claim, _: edit_meanwhile(job) or {**job.claim, **claim},
    )

    def edit_meanwhile(job):
        monkeypatch.undo()
        edit_crawl(job, {"max_pages": 5})

    with pytest.raises(WrongState, match="revision 2 holds"):
        edit_crawl(crawl, {"claim": {"fetch_slots": 1}}, revision=1)

    assert Process.objects.get().max_claim == before


def test_the_page_edits_without_showing_secrets_or_losing_them(client, crawl):
    client.force_login(User.objects.create_superuser("boss"))
    here = f"/crawls/{crawl.pk}/scope/"
    page = client.get(here)
    assert "first-secret" not in page.content.decode()

    client.post(here, filled(page) | {"connect_seconds": "7", "delay_factor": "3", "urls": ""})

    crawl.refresh_from_db()
    asked = fetching_of(crawl)
    assert (asked.connect_seconds, crawl.politeness["delay_factor"], crawl.revision) == (7, 3, 2)
    assert asked.headers == SECRETS["headers"]
    tested = client.post(
        here, filled(client.get(here)) | {"urls": f"{HERE}a", "test": "1"}
    ).context["tested"]
    assert [row.admits for row in tested] == [True]


def test_json_and_the_command_edit_the_same_fields(client, crawl, tmp_path, capsys):
    client.force_login(User.objects.create_superuser("boss"))
    said = client.patch(
        f"/api/v1/crawls/{crawl.pk}",
        {"max_kib_a_second": 64, "cookies": True},
        content_type="application/json",
    ).json()
    assert (said["order"]["max_kib_a_second"], said["order"]["cookies"]) == (64, True)

    file = tmp_path / "changes.json"
    file.write_text('{"host_requests_a_minute": 9}')
    call_command("crawl", "edit", crawl.name, "--delay", "2.5", "--file", str(file))
    crawl.refresh_from_db()
    assert (crawl.delay_seconds, crawl.politeness["host_requests_a_minute"], crawl.revision) == (
        2.5,
        9,
        3,
    )
    with pytest.raises(CommandError, match="nothing was changed:\n  seeds: cannot be edited"):
        call_command(
            "crawl", "edit", crawl.name, "--file", str(written(tmp_path, {"seeds": [HERE]}))
        )
    with pytest.raises(CommandError, match="needs a change"):
        call_command("crawl", "edit", crawl.name)


def test_an_edit_that_says_on_what_it_is_based_never_overwrites_another(client, crawl):
    client.force_login(User.objects.create_superuser("boss"))

    def patch(**fields):
        answer = client.patch(f"/api/v1/crawls/{crawl.pk}", fields, content_type="application/json")
        return answer.status_code, answer.json()

    first, second = patch(max_pages=5, revision=1), patch(max_pages=9, revision=1)
    assert (first[0], first[1]["revision"]) == (200, 2)
    assert (second[0], second[1]["detail"]) == (
        409,
        f"{crawl.name} was edited meanwhile: revision 2 holds. Look at it, then edit again.",
    )
    with pytest.raises(CommandError, match="revision 2 holds"):
        call_command("crawl", "edit", crawl.name, "--max-pages", "9", "--revision", "1")
    crawl.refresh_from_db()
    assert crawl.max_pages == 5
    for nonsense in ("two", True, [2], -1, 1.5):
        assert (
            "number of the revision"
            in patch(max_pages=9, revision=nonsense)[1]["errors"]["revision"]
        )


def test_an_edit_that_says_nothing_of_what_it_is_based_on_sets_its_own_fields_alone(client, crawl):
    client.force_login(User.objects.create_superuser("boss"))
    edit_crawl(crawl, {"max_pages": 5, "max_depth": 3})

    client.patch(f"/api/v1/crawls/{crawl.pk}", {"max_depth": 4}, content_type="application/json")

    crawl.refresh_from_db()
    assert (crawl.max_pages, crawl.max_depth) == (5, 4)


def written(folder, fields):
    (folder / "fields.json").write_text(json.dumps(fields))
    return folder / "fields.json"


def test_a_run_at_work_asks_otherwise_within_a_moment(make_site, order, work_off, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)
    site = make_site(
        {"/": links(*(f"/{n}" for n in range(30))), **{f"/{n}": "x" for n in range(30)}}
    )
    crawl = create_crawl(
        order(f"{site.url}/", batch_size=1, delay_seconds=0.01, headers={"X-Key": "before"})
    )
    site.pages["/5"] = acting(
        lambda: edit_crawl(crawl, {"headers": {"X-Key": "after"}, "delay_factor": 0})
    )

    run = work_off(start_run(crawl))

    # The next shift asks for robots.txt again: what an order's own headers bring is kept for no
    # other.
    keys = [request.headers["X-Key"] for request in site.log]
    assert (keys[0], keys[-1], len(keys)) == ("before", "after", 33)
    assert keys == sorted(keys, reverse=True)
    assert keys.index("after") <= 20
    assert "how it asks was edited" in run.processes.get().shifts.values_list("ending", flat=True)
