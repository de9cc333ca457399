"""A mirror of a crawl's latest pages: of each URL the document that was stored last, whichever run
has it.
"""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.management import call_command
from django.urls import reverse

from crawling.jobs.running import NOT_WANTED, run_job
from crawling.models import BackgroundJob
from crawling.runs.housekeeping.run_removal import remove_run
from crawling.runs.start import start_run
from crawling.uses.exports.jobs import LATEST_MIRROR
from crawling.uses.exports.state import readable_export, request_export, state_of
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser, soup


@pytest.fixture
def site(make_site):
    return make_site(
        {
            "/": "<title>Home</title><a href='/kept'>k</a><a href='/gone'>g</a><a href='/moved'>m",
            "/kept": "<p>first</p><a href='/'>home</a>",
            "/gone": "<p>gone later</p>",
            "/moved": "<p>moved later</p>",
        }
    )


@pytest.fixture
def runs(site, crawl_to_the_end, work_off):
    """Two: in the second a page has changed, one is gone, one redirects, and one is new."""
    first = crawl_to_the_end(f"{site.url}/")
    site.pages["/"] += "<a href='/new'>n</a>"
    site.pages["/kept"] = "<p>second</p><a href='/gone'>g</a>"
    site.pages["/new"] = "<p>new</p>"
    site.pages["/moved"] = (301, {"Location": "/new"}, "")
    del site.pages["/gone"]
    return first, work_off(start_run(first.crawl))


def files(content: bytes) -> dict[str, str]:
    """The documents of the only host by name, and the start page."""
    with ZipFile(BytesIO(content)) as package:
        assert package.testzip() is None
        # which Python reads by itself, and other programs by the number of its files
        assert int.from_bytes(content[-12:-10], "little") == len(package.namelist())
        return {name.rpartition("/")[2]: package.read(name).decode() for name in package.namelist()}


def test_each_url_has_the_document_that_was_stored_last(runs, tmp_path, capsys):
    first, latest = runs
    place = tmp_path / "all.zip"

    call_command("crawl", "mirror", str(first.crawl_id), "--all-runs", "--output", str(place))

    found = files(place.read_bytes())
    assert set(found) == {"index.html", "kept.html", "gone.html", "moved.html", "new.html"}
    assert "second" in found["kept.html"]
    assert 'href="gone.html"' in found["kept.html"]
    assert "gone later" in found["gone.html"]
    assert "url=new.html" in found["moved.html"]
    assert "4 pages" in capsys.readouterr().out
    call_command("crawl", "mirror", str(first.crawl_id), "--output", str(tmp_path / "one.zip"))
    assert "gone.html" not in files((tmp_path / "one.zip").read_bytes())
    row = readable_export(latest, LATEST_MIRROR)
    assert row.layout.runs == [latest.pk, first.pk]


def test_page_and_json_make_one_for_the_crawl_and_give_it_out(runs, site, work_off):
    first, latest = runs
    place = reverse("crawling:latest-mirror", args=[first.crawl_id])
    api = f"/api/v1/crawls/{first.crawl_id}/latest-mirror"
    operator, viewer = browser("operator"), browser("viewer")
    assert operator.get(f"{api}/export").status_code == 404
    assert viewer.post(place).status_code == 403
    operator.post(f"{place}?run=1")
    assert operator.post(api).json()["is_under_way"]
    of_mirrors = BackgroundJob.objects.filter(kind=LATEST_MIRROR.name)
    (asked,) = of_mirrors
    assert asked.run == latest
    run_job(asked.pk)

    content = b"".join(operator.get(f"{api}/export").streaming_content)
    assert "second" in files(content)["kept.html"]
    facts = operator.get(api).json()
    assert (facts["bytes"], facts["name"]) == (
        len(content),
        f"crawl-{first.crawl_id}-latest-mirror.zip",
    )
    assert not facts["is_outdated"]
    site.pages["/kept"] = "<p>third</p>"
    work_off(start_run(first.crawl))
    assert operator.get(api).json()["is_outdated"]
    shown = soup(operator.get(place)).get_text()
    assert "the crawl has archived more since" in " ".join(shown.split())
    operator.post(place)
    run_job(of_mirrors.latest("pk").pk)
    (row,) = of_mirrors.all()  # the one before is removed
    got = operator.get(place.replace("mirror/", "mirror.zip")).streaming_content
    assert "third" in files(b"".join(got))["kept.html"]
    assert row.run.number == 3


def test_one_that_waits_makes_room_for_another_once_its_run_is_deleted(runs):
    first, latest = runs
    lost = request_export(latest, LATEST_MIRROR)
    remove_run(latest, by=None)

    job = request_export(first, LATEST_MIRROR)

    assert job != lost
    assert run_job(lost.pk) == NOT_WANTED
    assert run_job(job.pk) == LATEST_MIRROR.done
    assert readable_export(first, LATEST_MIRROR).layout.runs == [first.pk]


def test_one_with_pages_that_were_withdrawn_or_deleted_is_not_given_out(runs):
    first, latest = runs
    run_job(request_export(latest, LATEST_MIRROR).pk)
    assert readable_export(latest, LATEST_MIRROR) is not None
    withdraw_pages(first.crawl, None, kind="pattern", text="/gone$", reason="x", by=None)
    assert "taken down since" in state_of(latest, LATEST_MIRROR).trouble
    run_job(request_export(latest, LATEST_MIRROR).pk)
    row = readable_export(latest, LATEST_MIRROR)
    assert row.pages == 3

    remove_run(first, by=None)

    assert readable_export(latest, LATEST_MIRROR) is None
    run_job(request_export(latest, LATEST_MIRROR).pk)
    assert readable_export(latest, LATEST_MIRROR).layout.runs == [latest.pk]
