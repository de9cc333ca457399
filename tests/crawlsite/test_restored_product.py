"""A back-up of the running product, restored and started in an empty place: by the commands, as the
operator's notes have them.
"""

from __future__ import annotations

import re
import shutil
import sys

import pytest
import requests

from tests.crawlsite.programs import (
    OWN_PASSWORD,
    PROJECT,
    choose_password,
    environment,
    eventually,
    finish,
    free_port,
    services,
)
from tests.crawlsite.supervised import Supervisor

PROCFILE = (PROJECT / "Procfile").read_text()


def log_in(product: Supervisor, password: str) -> tuple[requests.Session, str]:
    """A browser with a session, and the address of the place."""
    browser, base = requests.Session(), f"http://127.0.0.1:{product.port}"
    token = re.search(
        r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(f"{base}/login/").text
    )[1]
    browser.post(
        f"{base}/login/", {"username": "admin", "password": password, "csrfmiddlewaretoken": token}
    )
    if password != OWN_PASSWORD:
        choose_password(browser, base, password)
    return browser, base


def stop(product: Supervisor) -> None:
    product.process.terminate()
    product.process.wait(20)


@pytest.mark.drill  # the same with the commands alone stands in test_backup
@pytest.mark.timeout(600)
def test_what_was_backed_up_at_work_is_started_elsewhere_and_goes_on(start, place):
    settings = {
        "DEMO": "true",
        "DEMO_PORT": str(free_port()),
        "REPLAY_PORT": str(free_port()),
        "BANK_LEASE_SECONDS": "5",
        "BANK_PICKUP_SECONDS": "5",
    }
    product = start(PROCFILE, **settings)
    eventually(lambda: product.says(r"^ready"), 150)
    password = re.search(r"password (\S+)", "\n".join(product.lines()))[1]
    browser, base = log_in(product, password)
    eventually(
        lambda: (
            sum(crawl["fetched"] for crawl in browser.get(f"{base}/api/v1/crawls").json()["items"])
            > 5
        ),
        60,
    )
    saved = product.manage("backup", str(place / "saved"))
    assert saved.returncode == 0, saved.stderr
    stop(product)

    new = place / "new"
    new.mkdir()
    shutil.copy(product.state_dir / "secret_key", new)
    manage = [sys.executable, "manage.py", "restore", str(place / "saved")]
    status, told, errors = finish(
        services("--state-dir", new, "exec", *manage, env=environment(STATE_DIR=str(new))), 90
    )
    assert (status, told.startswith("This is the installation of ")) == (0, True), errors
    again = Supervisor(new, PROCFILE, **settings)
    try:
        eventually(lambda: again.says(r"^ready"), 150)
        assert not again.says("password")
        judge_restored(*log_in(again, OWN_PASSWORD), again)
    finally:
        stop(again)


def judge_restored(browser: requests.Session, base: str, product: Supervisor) -> None:
    """The crawls are there, go on, and their pages can be looked at as they were fetched, those
    from before and those from after.
    """
    crawls = browser.get(f"{base}/api/v1/crawls").json()["items"]
    assert {crawl["name"] for crawl in crawls} == {"Demo: the library", "Demo: the shop"}
    crawl = max(crawls, key=lambda one: one["fetched"])
    before = browser.get(f"{base}/api/v1/crawls/{crawl['id']}/pages").json()["items"]
    assert before
    eventually(lambda: all_fetched(browser, base) > sum(one["fetched"] for one in crawls), 90)
    for page in [page for page in before if page["title"]][:2]:
        content = browser.get(f"{base}/crawls/{crawl['id']}/pages/{page['id']}/content/")
        assert page["title"] in content.text
    assert product.manage("archive", "check", crawl["name"]).returncode == 0


def all_fetched(browser: requests.Session, base: str) -> int:
    return sum(crawl["fetched"] for crawl in browser.get(f"{base}/api/v1/crawls").json()["items"])
