"""Every address and every endpoint, walked by all roles, and all that is stored and logged: none
has a secret that a crawl, a listener, a token or a restored checkpoint was given.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from copy import copy
from functools import cache
from gzip import decompress
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile, is_zipfile

import pytest
from django.conf import settings as project
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client, override_settings

from allocation.models import Pool
from crawling.base.alert_events import AlertEvent
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, CrawlJob, Host, OrderTemplate, Page, Run
from crawling.runs.crawls.creation import clone_crawl, create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.crawls.share_links import create_share_link
from crawling.runs.crawls.templates import save_template
from crawling.runs.start import start_run
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.checkpoints.checkpoint_import import import_checkpoint
from crawling.uses.checkpoints.jobs import CHECKPOINT, request_checkpoint
from crawlsite.tokens import make_token
from tests.crawling.conftest import do_shifts
from tests.crawling.shared import Shared
from tests.test_roles import BODIES, PATHS, ROUTES
from tests.test_team_walk import ELSEWHERE, client_of, made_teams, names_crawl

FORM = """<form method=post action="/session"><input name=user><input type=password name=password>
</form>"""
#: no part of any other text
SECRETS = {
    "header": "markone1e8a7",
    "token": "marktwo9b2c4",
    "basic": "markthree5d6f",
    "log-in": "markfour7a3e",
    "proxy": "markfive2c8d",
    "replaced": "marksix4f1b9",
    "webhook": "markseven3b7e",
    "signature": "markeight6c2a",
    "restored header": "marknine8d5f",
    "restored token": "markten1a9c",
    "restored log-in": "markeleven4e7b",
    "restored basic": "marktwelve2f6d",
}
#: administrators read the addresses of listeners, and what receivers verify messages by
ALERTS = ("alerts/", "api/v1/alerts", "administration/activity", "api/v1/activity")
OF_ALERTS = frozenset({"webhook", "signature"})


class LogLines(logging.Handler):
    """All that is logged, as it is told and with what is told beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.getMessage()} {vars(record)}")


class Scene:
    """A crawl of ada with a secret in each place that takes one, what is made of its order, a
    listener of its events, the crawl restored from its checkpoint, a share link, and a token of
    each user.
    """

    def __init__(self, shared: Shared, folder: Path) -> None:
        self.folder, self.log = folder, LogLines()
        logging.getLogger().addHandler(self.log)
        self.users = made_teams()
        self.tokens = {name: make_token(user, "walk") for name, user in self.users.items()}
        self.site = shared.serve(
            {
                "/": "<title>a</title><a href=/b>b</a>",
                "/login": FORM,
                "/session": "in",
                f"/hooks/{SECRETS['webhook']}": "taken",
            }
        )
        host, ada = self.site.url.removeprefix("http://"), self.users["ada"]
        fields = {
            "name": "Books",
            "seeds": [f"{self.site.url}/"],
            "team": "Press",
            "delay_seconds": 0,
            "headers": {"X-Api-Key": SECRETS["replaced"], "X-Token": SECRETS["token"]},
            "credentials": {host: f"alice:{SECRETS['basic']}"},
            "login_url": f"{self.site.url}/login",
            "login_fields": {"user": "alice", "password": SECRETS["log-in"]},
        }
        self._listen()
        made = create_crawl(fields, by=ada)
        made = edit_crawl(made, {"headers": fields["headers"] | {"X-Api-Key": SECRETS["header"]}})
        run = do_shifts(start_run(made, by=ada))
        send_due_deliveries()
        save_template(made, "Kept", by=ada)
        clone_crawl(made, by=ada)
        proxy = f"http://bob:{SECRETS['proxy']}@127.0.0.1:9"
        create_crawl(fields | {"name": "By proxy", "proxy": proxy}, by=ada)
        set_schedule(made, {"every_minutes": 60}, by=ada)
        self.share = create_share_link(made, days=7, by=ada)
        run_job(request_checkpoint(run, by=ada).pk)
        self.crawl = CrawlJob.objects.get(pk=made.pk)
        self.restored = self._restore(host).crawl

    def _listen(self) -> None:
        """By one that answers, and one that is not there."""
        for name, server in (("Chat", self.site.url), ("Gone", "http://127.0.0.1:1025")):
            url = f"{server}/hooks/{SECRETS['webhook']}"
            fields = {"name": name, "url": url, "events": list(AlertEvent)}
            listener = save_listener(fields, by=self.users["administrator"])
            listener.secret = SECRETS["signature"]
            listener.save()

    def _restore(self, host: str) -> Run:
        (folder,) = (path.parent for path in project.CHECKPOINT_DIR.rglob("manifest.json"))
        secrets = {
            "headers": {
                "X-Api-Key": SECRETS["restored header"],
                "X-Token": SECRETS["restored token"],
            },
            "credentials": {host: f"alice:{SECRETS['restored basic']}"},
            "login_fields": {"user": "alice", "password": SECRETS["restored log-in"]},
        }
        restored = import_checkpoint(folder, name="Restored", by=self.users["ada"], secrets=secrets)
        return do_shifts(start_run(restored.crawl, by=self.users["ada"]))

    def marks(self) -> dict[str, str]:
        """The marks that are to be found nowhere, by kind."""
        tokens = {f"API token of {name}": token for name, token in self.tokens.items()}
        return SECRETS | tokens | {"share link": self.share[1]}

    def told(self, text: bytes) -> set[str]:
        low = text.lower()
        return {name for name, mark in self.marks().items() if mark.lower().encode() in low}

    def path(self, route: str, crawl: CrawlJob) -> str:
        """With the ids of what there is."""
        names = re.findall(r"%\((\w+)\)s", PATHS[route])
        known, values = self._ids(crawl.pk)
        if names_crawl(route):
            values = values | {names[0]: crawl.pk}
        other = next((pk for part, pk in known.items() if part in route), 1)
        return PATHS[route] % {name: values.get(name, other) for name in names}

    @cache  # noqa: B019  # the scene lives as long as the process
    def _ids(self, crawl: int) -> tuple[dict[str, int], dict[str, object]]:
        """By a part of their routes, and by the names in paths."""
        page, delivery = Page.objects.filter(run__crawl=crawl).first(), Delivery.objects.last()
        known = {
            "alerts/": delivery.listener_id,
            "hosts/": Host.objects.first().pk,
            "users/": self.users["ada"].pk,
            "/share": self.share[0].pk,
            "templates/": OrderTemplate.objects.get().pk,
        }
        values = {
            **dict.fromkeys(("pool", "pool_id"), Pool.objects.get().pk),
            **dict.fromkeys(("delivery", "delivery_id"), delivery.pk),
            **dict.fromkeys(("url", "old", "new"), page.url_id if page else 1),
            **dict.fromkeys(("page_id", "old_id", "new_id"), page.pk if page else 1),
            **dict.fromkeys(("number", "run_number", "revision_number", "key"), 1),
            **{
                "kind": "csv",
                "data": "text",
                "ending": "txt",
                "verb": "pause",
                "document": "glossary",
            },
            **{"page": "capacity", "name": "a.test", "deed": "pin", "action": "pin"},
        }
        return known, values


@pytest.fixture(scope="module")
def walked(shared: Shared, tmp_path_factory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scene")
    with override_settings(
        CHECKPOINT_DIR=folder / "checkpoints",
        IMPORT_DIR=folder,
        API_REQUESTS_A_MINUTE=1_000_000,
    ):
        scene = shared.do(Scene, shared, folder)
        yield scene
        logging.getLogger().removeHandler(scene.log)


@pytest.fixture
def scene(walked: Scene, db) -> Scene:
    return walked


def ask(client: Client, method: str, route: str, path: str, **extra) -> tuple[int, bytes]:
    """The status and all that is answered, heads and the content of ZIP files included. The effect
    of the request is undone.
    """
    is_json = route.startswith("api/") and method != "GET"
    body = {"data": BODIES.get(f"{method} {route}", {})}
    body |= {"content_type": "application/json"} if is_json else {}
    before, cookies = transaction.savepoint(), copy(client.cookies)
    answer = getattr(client, method.lower())(path, **body, **extra)
    said = b"".join(answer.streaming_content) if answer.streaming else answer.content
    transaction.savepoint_rollback(before)
    client.cookies = cookies
    return answer.status_code, str(dict(answer.headers)).encode() + plain(said)


def plain(said: bytes) -> bytes:
    if said.startswith(b"\x1f\x8b"):
        return said + decompress(said)
    if is_zipfile(BytesIO(said)):
        with ZipFile(BytesIO(said)) as packed:
            return said + b"".join(plain(packed.read(name)) for name in packed.namelist())
    return said


def elsewhere(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """Methods, routes and paths of what operators may ask for that names no crawl in its path."""
    for asked in ELSEWHERE:
        method, _, route = asked.partition(" ")
        yield method, route, scene.path(route, scene.crawl)


def questions(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """Method, route and path of all there are, and what can be read of the restored crawl."""
    for route, methods in ROUTES.items():
        if route.startswith("admin/"):
            continue
        for method in methods:
            yield method, route, scene.path(route, scene.crawl)
            if method == "GET" and names_crawl(route):
                yield method, route, scene.path(route, scene.restored)


def test_what_was_planted_was_used(scene):
    sent = "".join(f"{one.path} {one.headers} {one.body!r}" for one in scene.site.log)

    unused = {"basic", "proxy", "replaced", "signature", "restored basic"}
    assert {name for name, mark in SECRETS.items() if mark not in sent} == unused
    assert all(listener.secret == SECRETS["signature"] for listener in Listener.objects.all())
    assert {delivery.outcome[:8] for delivery in Delivery.objects.all()} >= {"Answered", "Not sent"}


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("viewer", 250),
        ("ada", 300),
        ("administrator", 340),
        # of another team: routes that name a crawl serve ben as a viewer (`test_team_walk`), and
        # those that name none are asked by ben below
        pytest.param("ben", 250, marks=pytest.mark.drill),
    ],
)
def test_no_answer_tells_anybody_a_secret(scene, name, least):
    found, statuses = secrets_told(scene, name, questions(scene))

    assert found == {}
    assert statuses[200] >= least, statuses


def test_no_answer_that_names_no_crawl_tells_an_operator_of_another_team_a_secret(scene):
    found, statuses = secrets_told(scene, "ben", elsewhere(scene))

    assert found == {}
    assert statuses[200] >= 10, statuses


def secrets_told(
    scene: Scene, name: str, asked: Iterator[tuple[str, str, str]]
) -> tuple[dict[tuple[str, str], set[str]], Counter[int]]:
    """The secrets in the answers to a user, by method and path, and how often each status came.
    Pages are asked for by a session, endpoints by a token.
    """
    user: User = scene.users[name]
    session, token = client_of(user), {"Authorization": f"Bearer {scene.tokens[name]}"}
    found, statuses = {}, Counter()
    for method, route, path in asked:
        by_token = route.startswith("api/")
        client, extra = (Client(), {"headers": token}) if by_token else (session, {})
        status, said = ask(client, method, route, path, **extra)
        statuses[status] += 1
        told = scene.told(said)
        if name == "administrator" and route.startswith(ALERTS):
            told -= OF_ALERTS
        if told:
            found[method, path] = told
    return found, statuses


def test_nothing_stored_has_a_secret_in_clear(scene):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )
        rows = {}
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT string_agg(t::text, chr(10)) FROM "{table}" t')
            rows[table] = (cursor.fetchone()[0] or "").encode()
    folders = (Path(project.ARCHIVE_DIR), scene.folder)
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    files = {path: plain(path.read_bytes()) for path in paths}

    assert BackgroundJob.objects.filter(kind=CHECKPOINT.name, trouble="").exists()
    assert "manifest.json" in {path.name for path in paths}
    assert {table: told for table, text in rows.items() if (told := scene.told(text))} == {
        # addresses that administrators gave, and their log
        "alerts_listener": {"webhook"},
        "django_admin_log": {"webhook"},
    }
    assert {path.name: told for path, text in files.items() if (told := scene.told(text))} == {}


def test_nothing_logged_has_a_secret(scene):
    for token in scene.tokens.values():
        headers = {"Authorization": f"Bearer {token}"}
        assert Client().get("/api/v1/crawls", headers=headers).status_code == 200
        assert Client().post("/api/v1/crawls/0/start", headers=headers).status_code >= 400

    assert len(scene.log.said) > 5
    assert scene.told("\n".join(scene.log.said).encode()) == set()
