"""Rules under a name: several crawls use them, each keeps the revision that it was saved with, and
what was extracted says by which.
"""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from crawling.models import CrawlJob, ExtractedRow, OrderRevision, Run
from crawling.runs.crawls.creation import clone_crawl, create_crawl, order_of
from crawling.runs.crawls.revisions import edit_crawl, revert_edit
from crawling.runs.crawls.teams import set_team_rule
from crawling.runs.crawls.templates import create_from_template, save_template
from crawling.uses.extraction import extractors
from crawling.uses.extraction.extractors import (
    edit_extractor,
    find_rules,
    give_newest,
    remove_extractor,
    save_extractor,
)
from crawling.uses.extraction.models import Extractor
from tests.crawling.pages import browser, soup
from tests.stack import background_queue

PAGE = "<title>{0}</title><b>bold {0}</b><i>italic {0}</i><u>under {0}</u>"
JSON = "application/json"
EXTRACTORS = "/api/v1/extractors"


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve({"/": PAGE.format("home") + "<a href=/1>l</a>", "/1": PAGE.format("one")})


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/", extract={"bold": "b"})


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def background():
    with background_queue() as queue:
        yield queue


@pytest.fixture
def texts(db):
    return save_extractor("Texts", {"bold": "b"}, by=None)


@pytest.fixture
def using(order, pool, texts):
    """A crawl that uses the extractor beside a rule of its own."""
    asked = order("http://127.0.0.1:8900/", extractor="Texts", extract={"own": "h1"})
    return create_crawl(asked)


def again(crawl):
    return CrawlJob.objects.get(pk=crawl.pk)


def test_an_order_has_the_rules_of_the_extractor_that_it_names_and_says_its_revision(using):
    assert (using.extractor, using.extract) == ("Texts@1", {"bold": "b", "own": "h1"})
    assert order_of(using)["extractor"] == "Texts@1"


def test_a_rule_of_the_order_goes_before_one_of_the_extractor(order, pool, texts):
    asked = order("http://127.0.0.1:8900/", extractor="Texts", extract={"bold": "strong"})

    assert create_crawl(asked).extract == {"bold": "strong"}


def test_an_order_that_names_none_that_is_there_is_refused_with_their_names(order, pool, texts):
    operator = browser("operator")

    refused = operator.post(
        "/api/v1/crawls", order("http://127.0.0.1:8900/", extractor="Text"), JSON
    )

    assert refused.status_code == 422
    assert "there is no extractor 'Text'; there are: Texts" in refused.content.decode()


def test_a_crawl_keeps_its_revision_when_the_extractor_is_edited(using, texts):
    edit_extractor(texts, {"bold": "b.x", "italic": "i"}, by=None)
    assert again(using).extract == {"bold": "b", "own": "h1"}

    edit_crawl(again(using), {"delay_seconds": 3})
    assert again(using).extractor == "Texts@1"
    edited = edit_crawl(again(using), {"extractor": "Texts"})

    assert edited.extractor == "Texts@2"
    assert edited.extract == {"bold": "b.x", "italic": "i", "own": "h1"}
    changes = OrderRevision.objects.get(crawl=using, number=edited.revision).changes
    assert changes["extractor"] == ["Texts@1", "Texts@2"]


def test_an_edit_that_is_taken_back_brings_the_rules_of_then(using, texts):
    edit_extractor(texts, {"italic": "i"}, by=None)
    edited = edit_crawl(using, {"extractor": "Texts", "extract": {"own": "h2"}})
    assert edited.extract == {"italic": "i", "own": "h2"}

    reverted = revert_edit(edited, edited.revision)

    assert (reverted.extractor, reverted.extract) == ("Texts@1", {"bold": "b", "own": "h1"})


def test_the_rules_of_an_extractor_that_is_dropped_go_and_own_ones_stay(using):
    dropped = edit_crawl(using, {"extractor": ""})

    assert (dropped.extractor, dropped.extract) == ("", {"own": "h1"})


def test_a_deleted_extractor_leaves_crawls_copies_and_templates_their_rules(using, texts):
    template = save_template(using, "Like it")
    remove_extractor(texts, by=None)

    assert edit_crawl(using, {"delay_seconds": 3}).extract == {"bold": "b", "own": "h1"}
    assert clone_crawl(using).extract == {"bold": "b", "own": "h1"}
    assert create_from_template(template, {"name": "third"}).extractor == "Texts@1"
    assert find_rules("Texts", None) is None
    saved = save_extractor("Texts", {"under": "u"}, by=None)
    assert (saved.pk, saved.revision) == (texts.pk, 2)
    assert again(using).extractor == "Texts@1"


def test_the_order_of_a_checkpoint_keeps_its_rules_where_the_extractor_is_unknown(
    order, pool, texts
):
    asked = order("http://127.0.0.1:8900/", extractor="Elsewhere@3", extract={"bold": "b"})
    asked["processes"] = 1

    crawl = create_crawl(asked, is_restored=True)

    assert (crawl.extractor, crawl.extract) == ("", {"bold": "b"})


def test_the_form_offers_extractors_beside_own_rules_and_an_edit_shows_both(using, texts):
    operator = browser("administrator")
    new = soup(operator.get("/crawls/new/?for=data&extractor=Texts"))
    chosen = new.select_one("select[name=extractor] option[selected]")
    assert (chosen["value"], chosen.text) == ("Texts@1", "Texts, revision 1")
    assert new.select_one("details[data-section=reading]").has_attr("open")

    edit_extractor(texts, {"italic": "i"}, by=None)
    edit = soup(operator.get(f"/crawls/{using.pk}/scope/"))
    assert edit.select_one("textarea[name=extract]").text.strip() == "own = h1"
    options = [one.text for one in edit.select("select[name=extractor] option")]
    assert options == ["none", "Texts, revision 2", "Texts, revision 1"]
    kept = edit.select_one("select[name=extractor] option[selected]")
    assert kept["value"] == "Texts@1"


def test_rules_of_the_form_are_kept_as_an_extractor_that_it_then_uses(pool, db):
    operator = browser("operator")
    typed = {
        "seeds": "http://127.0.0.1:8900/",
        "extract": "bold = b\nprice = i::price",
        "max_pages": "7",
    }

    page = soup(operator.post("/crawls/new/extractor/", {**typed, "extractor_name": "Goods"}))

    assert find_rules("Goods", None).rules == {"bold": "b", "price": "i::price"}
    assert page.select_one("select[name=extractor] option[selected]")["value"] == "Goods@1"
    assert page.select_one("textarea[name=extract]").text.strip() == ""
    assert page.select_one("input[name=max_pages]")["value"] == "7"
    refused = operator.post("/crawls/new/extractor/", {**typed, "extractor_name": "a@2"})
    assert "must not contain @" in refused.content.decode()
    assert soup(refused).select_one("textarea[name=extract]").text.strip() == typed["extract"]


def test_the_page_of_all_says_fields_crawls_and_owner(using, texts):
    edit_extractor(texts, {"bold": "b", "italic": "i"}, by=None)

    row = soup(browser("viewer").get("/crawls/extractors/")).select_one("tbody tr")

    told = " ".join(row.text.split())
    assert told.startswith("Texts bold, italic 2 1 1 with an older revision the command line")


def test_its_maker_and_administrators_edit_it_and_all_use_it(db):
    operator, other = browser("operator"), User.objects.create_user("ada")
    mine = operator.post(EXTRACTORS, {"name": "Mine", "rules": {"a": "a"}}, JSON).json()
    hers = save_extractor("Hers", {"b": "b"}, by=other)
    change = json.dumps({"rules": {"c": "c"}})

    assert operator.patch(f"{EXTRACTORS}/{mine['id']}", change, JSON).json()["revision"] == 2
    assert operator.patch(f"{EXTRACTORS}/{hers.pk}", change, JSON).status_code == 403
    assert operator.delete(f"{EXTRACTORS}/{hers.pk}").status_code == 403
    page = soup(operator.get(f"/crawls/extractors/{hers.pk}/"))
    assert not page.select("textarea")
    assert page.select_one(f"a[href='/crawls/new/?for=data&extractor={hers.name}']")
    assert (
        browser("administrator").patch(f"{EXTRACTORS}/{hers.pk}", change, JSON).status_code == 200
    )


def test_an_edit_based_on_an_older_revision_is_refused(texts):
    edit_extractor(texts, {"italic": "i"}, by=None)
    page = f"/crawls/extractors/{texts.pk}/"

    refused = browser("administrator").post(page, {"rules": "bold = b.y", "revision": "1"})

    assert "was edited meanwhile: revision 2 is the newest" in refused.content.decode()
    assert "bold = b.y" in soup(refused).select_one("textarea").text
    assert Extractor.objects.get().rules == {"italic": "i"}


def test_one_button_gives_its_crawls_the_newest_revision(using, texts):
    edit_extractor(texts, {"italic": "i"}, by=None)
    operator, page = browser("administrator"), f"/crawls/extractors/{texts.pk}/"
    assert "Use revision 2 in 1 crawl" in " ".join(soup(operator.get(page)).text.split())

    operator.post(f"{page}crawls/")

    assert (again(using).extractor, again(using).extract) == (
        "Texts@2",
        {"italic": "i", "own": "h1"},
    )


def test_crawls_that_cannot_have_it_keep_no_others_from_it(order, using, texts, monkeypatch):
    monkeypatch.setattr(extractors, "MOST_CRAWLS", 1)
    later = create_crawl(order("http://127.0.0.1:8900/", name="Later", extractor="Texts"))
    CrawlJob.objects.filter(pk=using.pk).update(extract={"own": "h1["})
    edit_extractor(texts, {"italic": "i"}, by=None)
    texts.refresh_from_db()

    done, refused = give_newest(texts, by=None)

    assert (done, len(refused), again(later).extractor) == (1, 1, "Texts@2")
    assert give_newest(texts, by=None)[0] == 0


def test_the_name_of_a_deleted_one_is_kept_for_its_maker(db):
    set_team_rule(own_crawls_only=True)
    operator, other = browser("operator"), User.objects.create_user("ada")
    hers = save_extractor("Hers", {"b": "b"}, by=other)
    remove_extractor(hers, by=other)

    taken = operator.post(EXTRACTORS, {"name": "Hers", "rules": {"a": "a"}}, JSON)

    assert taken.status_code == 422
    assert "ada has deleted an extractor of this name" in taken.content.decode()
    hers.refresh_from_db()
    assert (hers.created_by, hers.rules) == (other, {"b": "b"})
    assert save_extractor("Hers", {"c": "c"}, by=other).revision == 2


def test_a_deletion_says_what_uses_it_and_the_message_takes_it_back(using, texts):
    admin = browser("administrator")
    asked = soup(admin.get(f"/crawls/extractors/{texts.pk}/remove/"))
    assert "1 crawl uses it, and keeps its rules" in " ".join(asked.text.split())
    told = soup(admin.post(f"/crawls/extractors/{texts.pk}/remove/", follow=True))
    assert not told.select("tbody tr")

    undo = next(one for one in told.select("button[formaction]") if one.text == "Undo")
    page = soup(admin.post(undo["formaction"], follow=True))

    assert page.select_one("tbody tr th").text == "Texts"


def test_a_run_is_read_again_by_the_newest_revision_with_one_button(run, texts, background):
    operator = browser("administrator")
    page = f"/crawls/{run.crawl_id}/extracted/"
    edit_crawl(run.crawl, {"extractor": "Texts"})
    edit_extractor(texts, {"bold": "b", "italic": "i"}, by=None)

    of_extractor = soup(operator.get(f"/crawls/extractors/{texts.pk}/"))
    assert of_extractor.select_one("main ul a[aria-label^=Extracted]")["href"] == page
    button = soup(operator.get(page)).select_one("button[name=by]")
    assert " ".join(button.text.split()) == "Extract again by Texts, revision 2"
    operator.post(page, {"by": button["value"]})
    background.fetch_job(background.job_ids[-1]).perform()

    names = ExtractedRow.objects.filter(run=run).values_list("name", flat=True)
    assert sorted(names) == ["bold", "bold", "italic", "italic"]
    shown = " ".join(soup(operator.get(page)).text.split())
    assert "Read again by other rules, with those of the extractor Texts, revision 2." in shown
    assert "Extract again by Texts" not in shown
    (done,) = operator.get(f"/api/v1/crawls/{run.crawl_id}/extractions").json()["items"]
    assert done["extractor"] == "Texts@2"


def test_rules_that_are_tried_are_kept_as_an_extractor_and_chosen_again(run, background):
    operator, page = browser("operator"), f"/crawls/{run.crawl_id}/extracted/"
    tried = soup(operator.get(page, {"rules": "italic = i"}))
    form = tried.select_one("form[action='/crawls/extractors/new/']")
    rules = form.select_one("input[name=rules]")["value"]

    back = form.select_one("input[name=next]")["value"]
    answer = operator.post(form["action"], {"name": "Slanted", "rules": rules, "next": back})
    assert answer.url == back == f"{page}?rules=italic+%3D+i"

    again = soup(operator.get(page, {"extractor": "Slanted"}))
    assert again.select_one("textarea[name=rules]").text.strip() == "italic = i"
    assert again.select_one("select[name=extractor] option[selected]")["value"] == "Slanted"


def test_a_command_saves_lists_and_gives_them(order, pool, capsys, db):
    call_command("crawl", "extractor", "Goods", "price=b::price")
    made = create_crawl(order("http://127.0.0.1:8900/", extractor="Goods"))
    call_command("crawl", "extractor", "Goods", "price=b", "--use-newest")
    call_command("crawl", "extractor")

    assert again(made).extractor == "Goods@2"
    assert capsys.readouterr().out.splitlines()[-1] == "Goods  revision 2, crawls: 1  price"
    call_command("crawl", "extractor", "Goods", "--delete")
    assert find_rules("Goods", None) is None
