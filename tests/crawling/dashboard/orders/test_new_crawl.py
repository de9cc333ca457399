"""The page that makes crawls: every mistake beside its field, nothing typed is lost, and what it
makes.
"""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from crawling.base.errors import BadOrder
from crawling.dashboard.orders.forms.create import MAX_FILE_BYTES
from crawling.installation.identity import identity
from crawling.models import CrawlJob
from crawling.orders.claims import preset_claims
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.teams import set_team_rule
from tests.crawling.pages import browser, soup

NEW = "crawling:new"
CHECK = "crawling:check"
CAPACITY = {
    "worker": 4,
    "fetch_slots": 64,
    "bandwidth": 100_000,
    "memory": 512,
    "dns_slots": 64,
    "archive_writers": 8,
}


@pytest.fixture
def operator(pool, loopback):
    return browser("operator")


@pytest.fixture
def send(operator):
    """Return a function that fills the form in and sends it."""

    def fill_in(**answers):
        typed = {
            "seeds": "http://127.0.0.1:8900/",
            "name": "Atlas",
            "order": "breadth_first",
            "preset": "normal",
            **answers,
        }
        return operator.post(reverse(NEW), typed)

    return fill_in


def complaint(response, field):
    """The sentence beside a field, and only if the field points to it."""
    page = soup(response)
    found = page.find(id=f"id_{field}_error")
    asked = page.find(attrs={"name": field})
    assert f"id_{field}_error" in asked["aria-describedby"]
    assert asked["aria-invalid"] == "true"
    return found.get_text()


def test_before_there_is_a_pool_the_list_says_what_to_do(db):
    answer = browser("operator").get(reverse(NEW), follow=True)

    assert answer.redirect_chain == [(reverse("crawling:crawls"), 302)]
    assert "There is no pool of resources yet; run" in soup(answer).main.get_text()


def test_a_crawl_is_made_of_what_was_answered(send):
    answer = send(
        seeds="http://127.0.0.1:8900/\n# a remark\n\n  http://127.0.0.1:8901/b  ",
        max_pages="100",
        max_depth="0",
        max_megabytes="1.5",
        max_minutes="90",
        delay_seconds="0.5",
        processes="2",
        batch_size="7",
    )

    crawl = CrawlJob.objects.get()
    assert answer.url == reverse("crawling:crawl", args=[CrawlJob.objects.get().pk])
    assert crawl.seeds == ["http://127.0.0.1:8900/", "http://127.0.0.1:8901/b"]
    assert (crawl.name, crawl.max_pages, crawl.max_depth, crawl.max_bytes, crawl.max_seconds) == (
        "Atlas",
        100,
        0,
        1_572_864,
        5400,
    )
    assert (crawl.delay_seconds, crawl.processes, crawl.batch_size) == (0.5, 2, 7)
    assert crawl.claim == preset_claims(CAPACITY)["normal"]
    assert crawl.created_by.username == "operator"
    assert not crawl.runs.exists()


def test_empty_answers_mean_no_limit_and_a_name_from_the_first_host(send):
    send(name="", max_pages="", delay_seconds="")
    send(name="")

    assert set(CrawlJob.objects.values_list("name", flat=True)) == {
        "127.0.0.1:8900",
        "127.0.0.1:8900 2",
    }
    assert CrawlJob.objects.filter(max_pages=None, delay_seconds=1).count() == 2


def test_a_taken_name_is_told_together_with_the_other_mistakes(send):
    send()

    answer = send(max_pages="0")

    assert "There is a crawl named 'Atlas' already" in complaint(answer, "name")
    assert "Must be 1 or more" in complaint(answer, "max_pages")


def test_save_and_start_starts(send):
    page = send(start="1")

    assert page.status_code == 302
    assert CrawlJob.objects.get().runs.get().state == "queued"


def test_pressing_twice_makes_one_crawl(send):
    assert send(key="abc").status_code == send(key="abc").status_code == 302
    assert CrawlJob.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("seeds", "", "Needs at least one entry"),
        ("seeds", "example", "write it whole, like https://example.org/"),
        ("seeds", "http://u:p@127.0.0.1:8900/", "remove the user name and password"),
        ("name", "x" * 101, "Must have at most 100 characters"),
        ("max_pages", "many", "Must be a whole number"),
        ("max_pages", "0", "Must be 1 or more"),
        ("max_depth", "-1", "Must be 0 or more"),
        (
            "max_megabytes",
            "lots",
            "Megabytes must be a number, like 500; leave the field empty for no limit",
        ),
        (
            "max_minutes",
            "long",
            "Minutes must be a number, like 90; leave the field empty for no limit",
        ),
        ("max_minutes", "-2", "Must be 1 or more"),
        ("delay_seconds", "4000", "Must be 3600.0 or less"),
        ("processes", "65", "Must be 64 or less"),
        ("batch_size", "501", "Must be 500 or less"),
        ("claim_bandwidth", "100001", "more than the pool has (100000); claim less"),
        ("claim_fetch_slots", "0", "Must be 1 or more"),
        ("claim_worker", "2", "Must be 1"),
    ],
)
def test_a_mistake_stands_beside_its_field_and_nothing_typed_is_lost(send, field, typed, said):
    kept = {
        "seeds": "http://127.0.0.1:8900/kept",
        "name": "<Kept>",
        "max_pages": "77",
        "preset": "gentle",
        **{field: typed},
    }

    answer = send(**kept)

    assert answer.status_code == 200
    assert said in complaint(answer, field)
    page = soup(answer)
    assert page.find("textarea").get_text().strip() == kept["seeds"]
    assert page.find(attrs={"name": "name"})["value"] == kept["name"]
    assert page.find(attrs={"name": "max_pages"})["value"] == kept["max_pages"]
    assert page.find(attrs={"name": field}).get("value", typed) == typed
    assert page.find("input", attrs={"name": "preset", "checked": True})["value"] == "gentle"
    assert said in page.find(role="alert").get_text()
    assert not CrawlJob.objects.exists()


def test_all_mistakes_are_told_at_once_and_hidden_ones_are_unfolded(send):
    page = soup(send(seeds="", max_pages="x", claim_memory="9999"))

    assert {found["id"] for found in page.select("p.error")} == {
        "id_seeds_error",
        "id_max_pages_error",
        "id_claim_memory_error",
    }
    assert page.find(id="id_claim_memory").find_parent("details").has_attr("open")
    assert not page.find(id="id_importance").find_parent("details").has_attr("open")


def test_the_page_says_what_json_and_command_line_say(send, order):
    with pytest.raises(BadOrder) as refused:
        create_crawl(order("ftp://127.0.0.1/", max_pages="x"))

    answer = send(seeds="ftp://127.0.0.1/", max_pages="x")

    for field, sentence in refused.value.errors.items():
        assert complaint(answer, field).lower() == sentence.lower()


def test_a_name_that_is_taken_asks_for_another(send):
    send()

    assert "choose another name" in complaint(send(), "name")


def test_seeds_come_from_a_file_too(send):
    send(
        seeds_file=SimpleUploadedFile(
            "seeds.txt", "\ufeffhttp://127.0.0.1:8901/\r\n#x\r\nhttp://127.0.0.1:8902/ü".encode()
        )
    )

    assert CrawlJob.objects.get().seeds == [
        "http://127.0.0.1:8900/",
        "http://127.0.0.1:8901/",
        "http://127.0.0.1:8902/%C3%BC",
    ]


def test_lines_of_a_file_stand_in_the_box_after_a_mistake(send):
    answer = send(seeds_file=SimpleUploadedFile("seeds.txt", b"http://127.0.0.1:8901/\nnonsense"))

    assert "'nonsense' is not a URL" in complaint(answer, "seeds")
    assert soup(answer).find("textarea").get_text().split() == [
        "http://127.0.0.1:8900/",
        "http://127.0.0.1:8901/",
        "nonsense",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe", "not text in UTF-8"), (b"x" * (MAX_FILE_BYTES + 1), "larger than 1 MB")],
)
def test_a_file_that_is_no_list_is_refused_with_a_remedy(send, content, said):
    answer = send(seeds_file=SimpleUploadedFile("seeds.bin", content))

    assert said in complaint(answer, "seeds_file")
    assert not CrawlJob.objects.exists()


def test_presets_take_their_share_and_never_more_than_there_is():
    presets = preset_claims(CAPACITY)

    assert presets["gentle"] == {
        "worker": 1,
        "fetch_slots": 2,
        "bandwidth": 2048,
        "memory": 40,
        "dns_slots": 2,
        "archive_writers": 1,
    }
    assert presets["fast"] == {
        "worker": 1,
        "fetch_slots": 32,
        "bandwidth": 50_000,
        "memory": 256,
        "dns_slots": 32,
        "archive_writers": 1,
    }
    shared = {**CAPACITY, "worker": 2, "bandwidth": 102_336}
    claims = preset_claims(shared)
    assert 2 * claims["normal"]["bandwidth"] + claims["fast"]["bandwidth"] <= 102_336
    assert claims["fast"]["bandwidth"] == 51_136
    tiny = dict.fromkeys(CAPACITY, 3)
    assert all(claim[key] <= tiny[key] for claim in preset_claims(tiny).values() for key in tiny)
    assert preset_claims({"printers": 4})["fast"] == {"printers": 0}


def test_a_preset_is_claimed_and_single_classes_override_it(send):
    send(preset="gentle", claim_memory="33")

    assert CrawlJob.objects.get().claim == {**preset_claims(CAPACITY)["gentle"], "memory": 33}


def test_who_crawls_is_asked_before_the_first_real_site_and_saved_with_it(send, operator):
    set_team_rule(own_crawls_only=False)  # which lets operators set it
    assert soup(operator.get(reverse(NEW))).find(attrs={"name": "contact_url"})
    real = "https://example.org/"
    unsaid = send(seeds=real)
    assert "before the first crawl of a public site" in complaint(unsaid, "contact_url")
    assert not soup(unsaid).find(id="id_seeds_error")

    wrong = send(seeds=real, product_token="my bot", contact_url="nowhere")
    assert "Letters, - and _ only" in complaint(wrong, "product_token")
    assert "Give a page" in complaint(wrong, "contact_url")

    said = {"product_token": "mybot", "contact_url": "me@example.org"}
    check = {"seeds": real, "scope": "host", "preset": "normal"}
    unsure, sure = (operator.post(reverse(CHECK), check | one).json() for one in ({}, said))
    assert "To see an estimate, correct: Contact." in unsure["estimate"]
    assert (sure["errors"], identity().contact_url) == ({}, "")
    send(seeds=real, max_pages="x", **said)
    assert not identity().contact_url

    assert send(seeds=real, **said).status_code == 302
    assert identity().user_agent == "mybot/1.0 (+mailto:me@example.org)"
    assert LogEntry.objects.filter(
        content_type__model="identity", user__username="operator"
    ).exists()
    assert not soup(operator.get(reverse(NEW))).find(attrs={"name": "contact_url"})


def test_a_clone_is_filled_in_like_its_original_under_a_free_name(send, operator):
    send(
        name="Atlas",
        max_pages="12345678",
        max_megabytes="1.001",
        max_minutes="0.7",
        delay_seconds="0.25",
        preset="gentle",
        claim_memory="33",
    )
    original = CrawlJob.objects.get()

    page = soup(operator.get(reverse(NEW), {"clone": original.pk}))
    typed = {
        field["name"]: field.get("value", "")
        for field in page.select("form.order input:not([type=radio]):not([type=file])")
    }
    assert typed["name"] == "Atlas 2"
    chosen = page.select_one("input[name=preset][checked]")["value"]
    operator.post(
        reverse(NEW),
        {
            **typed,
            "seeds": page.find("textarea").get_text().strip(),
            "order": "breadth_first",
            "preset": chosen,
        },
    )

    clone = CrawlJob.objects.get(name="Atlas 2")
    for field in (
        "seeds",
        "max_pages",
        "max_bytes",
        "max_seconds",
        "delay_seconds",
        "processes",
        "batch_size",
        "claim",
    ):
        assert getattr(clone, field) == getattr(original, field)


def test_weights_are_asked_for_kept_and_shown(send, operator):
    wrong = send(order="best_first", importance="/manual/ = much\n( = 1")
    assert "Must be a number" in complaint(wrong, "importance")

    send(
        order="best_first",
        links_weight="0.5",
        importance="/manual/ = 10\n\\?page=\\d = -2.5",
        path_ascending="on",
    )

    crawl = CrawlJob.objects.get()
    weights = {"/manual/": 10, r"\?page=\d": -2.5}
    assert crawl.ordering == {
        "exact_order": False,
        "links_weight": 0.5,
        "url_weight": 1,
        "importance": weights,
        "path_ascending": True,
        "topic": [],
    }
    settings = (
        soup(operator.get(reverse("crawling:settings", args=[crawl.pk])))
        .select_one("dl.settings")
        .get_text(" ", strip=True)
    )
    assert "links 0.5, address 1" in settings
    assert r"\?page=\d = -2.5" in settings
    again = soup(operator.get(reverse(NEW), {"clone": crawl.pk}))
    assert again.find("textarea", {"name": "importance"}).get_text().strip().splitlines() == [
        "/manual/ = 10",
        r"\?page=\d = -2.5",
    ]
    assert again.find("input", {"name": "path_ascending"}).has_attr("checked")


@pytest.mark.parametrize("nonsense", ["0", "x", "9" * 40, "-1"])
def test_a_clone_of_nothing_is_not_found(operator, nonsense):
    assert operator.get(reverse(NEW), {"clone": nonsense}).status_code == 404


def test_a_viewer_makes_nothing(pool):
    viewer = browser("viewer")

    assert viewer.get(reverse(NEW)).status_code == 403
    assert viewer.post(reverse(NEW), {"seeds": "http://127.0.0.1:8900/"}).status_code == 403
    assert (
        viewer.post(reverse("crawling:test-fetch"), {"seeds": "http://127.0.0.1:8900/"}).status_code
        == 403
    )


def test_addresses_that_are_not_allowed_are_named_together_with_other_mistakes(pool):
    typed = {"seeds": "http://10.0.0.7:81/\nhttp://10.0.0.8/", "max_pages": "-5", "start": "1"}
    answer = browser("operator").post(reverse(NEW), {"preset": "normal", **typed})

    said = complaint(answer, "seeds")
    assert said.startswith("Not allowed yet: 10.0.0.7:81 and 10.0.0.8:80")
    assert "at least one entry" not in said
    assert complaint(answer, "max_pages") == "Must be 1 or more"
    closed = soup(answer).find(id="closed-addresses").get_text()
    assert closed.count("Ask an administrator") == 2
    assert not CrawlJob.objects.exists()


def test_what_was_blamed_is_still_read_when_the_form_is_checked(operator):
    typed = {"seeds": "http://10.0.0.7/\nno address", "preset": "normal", "max_pages": "-5"}
    found = operator.post(reverse(CHECK), typed).json()

    assert "10.0.0.7" in found["closed"]
    assert set(found["errors"]) == {"seeds", "max_pages"}


def test_a_line_without_its_mark_is_named_with_the_remedy(send):
    said = complaint(send(extract="price = .price\ntitle span.title"), "extract")

    assert said.startswith("“title span.title” has no “=”; write a name, “=” and a selector")
    assert "like title = span.title" in said


def test_sections_that_were_open_are_open_on_the_page_that_comes_back(send):
    page = soup(send(name="n" * 101, unfolded=["fetching", "reuse"]))

    opened = [one["data-section"] for one in page.select("details[data-section][open]")]
    assert opened == ["fetching", "reuse"]
