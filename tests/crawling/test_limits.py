"""Limits on bytes and time end a run with a sentence; that on pages is in test_claiming and test_crawl_path."""

from __future__ import annotations

from crawling.models import LogLine
from crawling.selectors import crawl_view


def many(count: int) -> dict[str, str]:
    return {"/": "".join(f'<a href="/{n}">x</a>' for n in range(count)), **{f"/{n}": "x" * 1000 for n in range(count)}}


def test_a_run_ends_when_it_has_fetched_so_many_bytes(make_site, crawl_to_the_end, monkeypatch):
    monkeypatch.setattr("crawling.shift.work.LOOK_SECONDS", 0)
    site = make_site(many(200))

    run = crawl_to_the_end(f"{site.url}/", max_bytes=20_000, batch_size=5, delay_seconds=0.01)

    assert run.reason.startswith("The limit of 19.5")
    assert 20_000 <= crawl_view(run.crawl).counts.bytes < 100_000


def test_a_run_ends_after_so_many_seconds(make_site, crawl_to_the_end, monkeypatch):
    monkeypatch.setattr("crawling.shift.work.LOOK_SECONDS", 0)
    site = make_site(many(500))

    run = crawl_to_the_end(f"{site.url}/", max_seconds=1, delay_seconds=0.05)

    assert run.reason == "The limit of 1 seconds is reached; the frontier holds more."
    assert 1 < len(site.paths) < 100


def test_the_log_tells_who_started_a_run_and_how_it_ended(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")

    lines = list(LogLine.objects.filter(run=run).order_by("pk").values_list("message", flat=True))
    assert lines[0] == "Run 1 started by the command line."
    assert lines[-1] == "Finished. Every URL in scope is done."
