"""`make run` with the real Procfile, as a newcomer meets it: two demo crawls, one of which waits,
and a page that says why.
"""

from __future__ import annotations

import re
import signal
import time

import pytest
import requests

from tests.crawlsite.programs import PROJECT, eventually, free_port, living


@pytest.fixture
def product(start):
    """The whole product on a fresh state directory, ready."""
    product = start(
        (PROJECT / "Procfile").read_text(), DEMO="true", DEMO_PORT=str(free_port()), WORKERS="2"
    )
    product.until_it_says(r"^ready")
    return product


def log_in(product) -> requests.Session:
    """A browser that has logged in with the password that was printed."""
    browser = requests.Session()
    base = f"http://127.0.0.1:{product.port}"
    token = re.search(
        r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(f"{base}/login/").text
    )[1]
    password = re.search(r"password (\S+)", "\n".join(product.lines()))[1]
    answer = browser.post(
        f"{base}/login/", {"username": "admin", "password": password, "csrfmiddlewaretoken": token}
    )
    assert answer.url == f"{base}/"
    return browser


def test_a_newcomer_sees_one_demo_crawl_run_and_the_other_wait(product):
    base = f"http://127.0.0.1:{product.port}"
    assert product.lines()[0] == f"Dashboard: {base}/"
    browser = log_in(product)

    eventually(lambda: "state-running" in browser.get(f"{base}/crawls/").text)

    crawls = browser.get(f"{base}/crawls/").text
    assert "Held by Demo: the library" in crawls
    bank = browser.get(f"{base}/resources/", allow_redirects=True).text
    assert "The state is <strong>safe</strong>" in bank
    assert "1 waiting" in bank
    assert requests.get(f"{base}/readyz").json() == {
        "postgresql": "ok",
        "pools": "ok",
        "redis": "ok",
        "workers": "2 for crawls",
        "scheduler": "ok",
    }
    style = re.search(r'href="(/static/design/[^"]*\.css)"', crawls)[1]
    assert browser.get(base + style).status_code == 200


@pytest.mark.drill
def test_in_the_middle_of_a_crawl_all_of_it_stops_within_ten_seconds_and_goes_on_afterwards(
    product, start
):
    eventually(lambda: "running" in product.manage("crawl", "list").stdout)
    pids = product.pids()

    began = time.monotonic()
    product.process.send_signal(signal.SIGTERM)
    product.process.wait(10)

    assert time.monotonic() - began < 10
    assert living(pids) == []

    again = start(
        (PROJECT / "Procfile").read_text(), DEMO="true", DEMO_PORT=str(free_port()), WORKERS="2"
    )
    again.until_it_says(r"^ready")
    assert not again.says("password")
    assert len(re.findall(r"^\d Demo: ", again.manage("crawl", "list").stdout, re.MULTILINE)) == 2
