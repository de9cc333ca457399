"""Bad input: one clear sentence for each field, the same through every door, and nothing half
made."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from allocation.models import Process
from crawling.base.errors import BadOrder, WrongState
from crawling.models import CrawlJob, Run, Url
from crawling.runs import steering
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run

SEED = "http://127.0.0.1:8900/"
BAD = {
    "a seed that is no URL": ({"seeds": ["nonsense"]}, "seeds", "not a URL"),
    "an unknown scheme": (
        {"seeds": ["gopher://127.0.0.1/"]},
        "seeds",
        "'gopher' cannot be crawled",
    ),
    "a password in a URL": (
        {"seeds": ["http://me:secret@127.0.0.1/"]},
        "seeds",
        "remove the user name",
    ),
    "a name that never resolves": ({"seeds": ["http://localhost/"]}, "seeds", "localhost"),
    "no seeds": ({"seeds": []}, "seeds", "at least one"),
    "ten thousand seeds": (
        {"seeds": [f"{SEED}{n}" for n in range(10_000)]},
        "seeds",
        "at most 5000",
    ),
    "a negative limit": ({"max_pages": -1}, "max_pages", "1 or more"),
    "a negative delay": ({"delay_seconds": -0.5}, "delay_seconds", "0 or more"),
    "a negative claim": ({"claim": {"memory": -1}}, "claim.memory", "0 or more"),
    "a claim above capacity": (
        {"claim": {"fetch_slots": 65}},
        "claim.fetch_slots",
        "more than the pool has (64)",
    ),
    "a claim on no class": ({"claim": {"gold": 1}}, "claim.gold", "no such resource class"),
    "a claim no shift can work with": ({"claim": {"memory": 0}}, "claim.memory", "1 or more"),
    "two workers for one shift": ({"claim": {"worker": 2}}, "claim.worker", "must be 1"),
    "an unknown field": ({"colour": "blue"}, "colour", "not a field"),
    "an unknown order": (
        {"order": "sideways"},
        "order",
        "must be 'breadth_first', 'depth_first', 'best_first', 'opic' or 'focused'",
    ),
    "a truth value for a number": ({"max_pages": True}, "max_pages", "whole number"),
    "a truth value for units": ({"claim": {"memory": True}}, "claim.memory", "whole number"),
    "a number for a name": ({"name": "2"}, "name", "must not be a number"),
    "a number in words": ({"max_depth": "three"}, "max_depth", "whole number"),
}


@pytest.fixture
def refused(order):
    """Return a function that orders a crawl and returns the errors by field."""

    def refuse(**fields) -> dict[str, str]:
        with pytest.raises(BadOrder) as caught:
            create_crawl(order(SEED, **fields) if "seeds" not in fields else {**order(), **fields})
        return caught.value.errors

    return refuse


@pytest.mark.parametrize(("fields", "field", "sentence"), BAD.values(), ids=BAD)
def test_each_mistake_is_named_with_its_field_and_nothing_is_made(refused, fields, field, sentence):
    errors = refused(**fields)

    assert list(errors) == [field]
    assert sentence in errors[field]
    assert not CrawlJob.objects.exists()


def test_all_mistakes_are_told_at_once(refused):
    assert set(refused(max_pages=0, delay_seconds="soon", colour="blue", claim={"gold": 1})) == {
        "max_pages",
        "delay_seconds",
        "colour",
        "claim.gold",
    }


def test_a_second_crawl_of_the_same_name_is_refused(order, refused):
    create_crawl(order(SEED, name="twin"))

    assert "there is a crawl named 'twin' already" in refused(name="twin")["name"]


def test_a_taken_name_is_told_together_with_the_other_mistakes(order, refused):
    create_crawl(order(SEED, name="twin"))

    assert set(refused(name=" twin ", max_pages=0, seeds=["nonsense"])) == {
        "name",
        "max_pages",
        "seeds",
    }


def test_a_real_site_is_not_crawled_before_we_say_who_we_are(refused, identified):
    identified.delete()

    assert "manage.py identify" in refused(seeds=["https://example.org/"])["contact_url"]


def test_a_crawl_that_runs_is_not_started_twice(order):
    crawl = create_crawl(order(SEED))
    start_run(crawl)

    with pytest.raises(WrongState, match="wait for its end, or stop it"):
        start_run(crawl)

    assert (Run.objects.count(), Url.objects.count(), Process.objects.count()) == (1, 1, 1)


def test_what_a_crawl_cannot_do_now_is_said_with_what_can(order):
    crawl = create_crawl(order(SEED))

    with pytest.raises(WrongState, match="never been started"):
        steering.pause(crawl)
    start_run(crawl)
    wanted = "only a failed, finished, paused, pausing or stopped crawl can"
    with pytest.raises(WrongState, match=wanted):
        steering.resume(crawl)


class TestCommandLine:
    """The same sentences, and an exit status."""

    @pytest.fixture(autouse=True)
    def somebody_would_do_the_work(self, worker):
        """Without a worker every order is refused, whatever it says."""

    def test_every_mistake_is_printed_with_its_field(self, order):
        with pytest.raises(CommandError) as caught:
            call_command("crawl", "nonsense", "--max-pages", "-3", "--claim", "gold=1")

        assert {line.strip().partition(":")[0] for line in str(caught.value).splitlines()[1:]} == {
            "seeds",
            "max_pages",
            "claim.gold",
        }
        assert not CrawlJob.objects.exists()

    def test_a_taken_name_is_printed_with_the_other_mistakes(self, order):
        create_crawl(order(SEED, name="twin"))

        with pytest.raises(CommandError) as caught:
            call_command("crawl", SEED, "--name", "twin", "--max-depth", "-1")

        assert {line.strip().partition(":")[0] for line in str(caught.value).splitlines()[1:]} == {
            "name",
            "max_depth",
        }

    def test_an_order_file_with_an_unknown_field_is_refused(self, order, tmp_path):
        file = tmp_path / "order.json"
        file.write_text(json.dumps({"seeds": [SEED], "depth": 3}))

        with pytest.raises(CommandError, match="depth: is not a field of a crawl order"):
            call_command("crawl", "--file", str(file))

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("{", "is not JSON"),
            ("[" * 200_000, "nested too deep"),
            ("[1]", "must hold one JSON object"),
            (None, "No such file"),
        ],
    )
    def test_an_order_file_that_cannot_be_read_is_refused(self, order, tmp_path, text, sentence):
        file = tmp_path / "order.json"
        if text is not None:
            file.write_text(text)

        with pytest.raises(CommandError, match=sentence):
            call_command("crawl", "--file", str(file))

    @pytest.mark.parametrize(
        "words",
        [
            ["show", "nothing"],
            ["show", "\udcff"],
            ["pause", "99999999999999999999"],
            ["stop"],
            ["resume", "a", "b"],
        ],
    )
    def test_a_crawl_that_is_not_there_is_said_so(self, pool, words):
        with pytest.raises(
            CommandError, match=r"There is no crawl|required: CRAWL|unrecognized arguments: b"
        ):
            call_command("crawl", *words)

    def test_without_seeds_nothing_happens(self, pool, loopback):
        with pytest.raises(CommandError, match="seeds: needs at least one entry"):
            call_command("crawl")

    def test_brackets_and_colons_in_a_name_are_only_text(self, order, capsys):
        start_run(create_crawl(order(SEED, name="[/x] [b] :cat:")))

        call_command("crawl", "list")

        assert "[/x] [b] :cat:" in capsys.readouterr().out

    def test_a_long_host_gives_a_name_that_is_short_enough(self, order, identified):
        host = ".".join(["a" * 60] * 4)

        call_command("crawl", f"http://{host}/")
        call_command("crawl", f"http://{host}/")

        assert {len(name) for name in CrawlJob.objects.values_list("name", flat=True)} == {90, 92}
