"""`/api/v1/alerts`."""

from __future__ import annotations

from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.alerts.models import Listener
from tests.api.conftest import SEED


def test_a_program_makes_a_webhook_and_reads_what_it_was_told(administrator, order):
    wish = {"name": "Chat", "url": "https://chat.example/hook", "events": ["started"]}
    assert administrator("POST", "alerts", {**wish, "events": []})[0] == 422
    status, made = administrator("POST", "alerts", wish)
    assert (status, made["secret"]) == (201, Listener.objects.get().secret)
    assert administrator("POST", "alerts", wish)[0] == 422  # the name is taken
    assert "secret" not in administrator.get("alerts")["items"][0]

    start_run(create_crawl(order(SEED)))
    [told] = administrator.get(f"alerts/{made['id']}/deliveries")["items"]
    assert (told["event"], told["attempts"]) == ("started", 0)
    assert administrator("POST", f"alerts/{made['id']}/deliveries/{told['id']}/resend")[0] == 200

    assert (
        administrator("PUT", f"alerts/{made['id']}", {**wish, "is_on": False})[1]["is_on"] is False
    )
    assert administrator("DELETE", f"alerts/{made['id']}")[0] == 204


def test_a_body_that_is_no_listener_is_told_in_words_of_its_own(administrator):
    assert (
        administrator("POST", "alerts", [])[1]["detail"]
        == "body: must be an object of fields and their values"
    )
    assert administrator("POST", "tokens", {"name": "t", "colour": "red"})[1]["errors"] == {
        "colour": "is not a known field; omit it"
    }
