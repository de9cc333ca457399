"""An administrator has ReplayWeb.page installed by a button; pages say before what is missing."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from base64 import b64encode
from urllib.parse import quote
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.cache import cache
from django.urls import reverse

from crawling.base.errors import WrongState
from crawling.jobs.running import run_in_this_process
from crawling.models import BackgroundJob, Page, Run
from crawling.uses.exports.player import OBSTACLE
from crawlsite.replay.origin import answer_nothing, files_when_released
from crawlsite.replay.player import SERVED, NpmPackage
from tests.crawling.pages import browser, soup
from tests.servers import serve_site

PLACE = "/crawls/replay/"


def package():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in SERVED:
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(name)
            archive.addfile(info, io.BytesIO(name.encode()))
    return packed.getvalue()


@pytest.fixture
def registry(db, settings, tmp_path, monkeypatch):
    """npm's registry with a package that is known by its checksum."""
    content = package()
    integrity = "sha512-" + b64encode(hashlib.sha512(content).digest()).decode()
    player = NpmPackage("player", "1.2.3", integrity, {name: name for name in SERVED})
    with serve_site({"/player/-/player-1.2.3.tgz": (200, {}, content)}) as site:
        dist = {"integrity": integrity, "tarball": f"{site.url}/player/-/player-1.2.3.tgz"}
        version = {"name": "player", "version": "1.2.3", "dist": dist}
        about = {"name": "player", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version}}
        headers = {"Content-Type": "application/json"}
        site.pages["/player"] = (200, headers, json.dumps(about))
        monkeypatch.setenv("npm_config_registry", site.url)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
        settings.STATE_DIR, settings.REPLAY_PLAYER = tmp_path, player
        settings.REPLAY_DIR = player.folder(tmp_path)
        cache.delete(OBSTACLE)
        yield site
        cache.delete(OBSTACLE)


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    return crawl_once(f"{shared.serve({'/': '<title>Home</title>'}).url}/")


@pytest.fixture
def stored(crawled, db):
    """The address of a stored page."""
    run = Run.objects.get(pk=crawled.pk)
    return reverse("crawling:page", args=[run.crawl_id, Page.objects.get(run=run).pk])


def button(role_browser):
    return soup(role_browser.get(PLACE)).find("button", string="Install ReplayWeb.page")


def test_a_button_installs_the_player_and_it_is_served_at_once(registry, stored):
    administrator, operator = browser("administrator"), browser("operator")
    assert "ask an administrator" in operator.get(stored).content.decode()
    assert "ask an administrator" in operator.get(PLACE).content.decode()
    offer = soup(administrator.get(stored)).find("a", href=f"{PLACE}?next={quote(stored, safe='')}")
    assert offer.text.split() == ["Replay:", "install", "ReplayWeb.page"]
    assert button(administrator) is not None
    assert operator.post(PLACE).status_code == 403

    administrator.post(PLACE)
    administrator.post(PLACE)
    run_in_this_process(BackgroundJob.objects.get())

    shown = administrator.get(PLACE).content.decode()
    assert "ReplayWeb.page 1.2.3 is installed." in shown
    assert "Create the WACZ file for a replay" in operator.get(stored).content.decode()
    asked = soup(administrator.get(offer["href"]))
    assert (
        asked.find("a", string=lambda text: text and "Back to the page" in text)["href"] == stored
    )
    assert "Back to the page" not in administrator.get(f"{PLACE}?next=//a.test/").content.decode()
    sent = administrator.post(PLACE, {"next": offer["href"]})
    assert sent.url == offer["href"]
    told = administrator.get("/api/v1/replay").json()
    assert (told["is_installed"], told["trouble"]) == (True, "")


def test_another_package_is_refused_before_the_click_and_after_it(registry, settings):
    settings.REPLAY_PLAYER = NpmPackage("player", "1.2.3", "sha512-other", {})
    administrator = browser("administrator")

    assert button(administrator) is None
    assert "The registry of npm has another package." in administrator.get(PLACE).content.decode()
    administrator.post(PLACE)
    with pytest.raises(WrongState, match="has the checksum"):
        run_in_this_process(BackgroundJob.objects.get())
    assert "has the checksum" in administrator.get(PLACE).content.decode()


def test_a_missing_registry_is_said_before_the_click(registry, monkeypatch):
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    administrator = browser("administrator")

    assert button(administrator) is None
    assert "npm does not get it" in administrator.get(PLACE).content.decode()


def test_a_missing_npm_is_said_before_the_click(registry, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    administrator = browser("administrator")

    assert "npm is not installed on this server." in administrator.get(PLACE).content.decode()


def test_the_server_of_the_replay_has_the_player_once_it_is_there(tmp_path):
    served = files_when_released(tmp_path / "player", answer_nothing, lambda *_: None)

    def status():
        said, environ = [], {"PATH_INFO": "/ui.js"}
        setup_testing_defaults(environ)
        answer = served(environ, lambda *facts: said.extend(facts))
        getattr(answer, "close", lambda: None)()
        return said[0]

    assert status() == "404 Not Found"
    (tmp_path / "player").mkdir()
    (tmp_path / "player" / "ui.js").write_text("ui")
    assert status() == "200 OK"
