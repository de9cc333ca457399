"""`make run` as its operator sees it: what it says, what it keeps running, and that nothing is left
of it.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

import psutil
import psycopg
import pytest
import requests

from crawlsite.service_addresses import database_url
from tests.crawlsite.programs import (
    PROJECT,
    choose_password,
    environment,
    eventually,
    finish,
    free_port,
    needs_root,
    services,
    still_running,
)
from tests.crawlsite.supervised import Supervisor

#: the whole product takes most of a minute of the processor to start, more on a busy machine
pytestmark = pytest.mark.timeout(300)

#: for a line of a Procfile
PYTHON = shlex.quote(sys.executable)
#: in place of the dashboard, which `site` and the drill of the whole product start
WEB = (
    f"web: {PYTHON} -m gunicorn tests.crawlsite.supervisor.answering:application "
    "--no-control-socket --graceful-timeout 1 --bind $HOST:$PORT\n"
)


@pytest.fixture(scope="module")
def site(make_place):
    """The whole product as a newcomer starts it, for tests that leave it running; they stand
    together, or two processes of the suite would start one each.
    """
    site = Supervisor(
        make_place() / "state",
        (PROJECT / "Procfile").read_text(),
        DEMO="true",
        DEMO_PORT=str(free_port()),
        REPLAY_PORT=str(free_port()),
        WORKERS="2",
    )
    site.until_it_says("^ready")
    yield site
    site.process.terminate()
    site.process.wait(timeout=60)


def test_first_line_is_the_dashboards_address_and_ready_comes_when_it_answers(site):
    assert site.lines()[0] == f"Dashboard: http://127.0.0.1:{site.port}/"
    assert requests.get(f"http://127.0.0.1:{site.port}/healthz", timeout=60).status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each process imports for itself")
def test_all_processes_share_what_they_import_and_are_known_by_what_they_do(site):
    """Each by itself would take 60 to 110 MiB."""
    names = {}
    for note in (site.state_dir / "pids/stack").iterdir():
        process = psutil.Process(int(note.read_text().split()[0]))
        names[note.name] = " ".join(process.cmdline()).strip()
        assert process.memory_full_info().pss < 55 * 2**20, note.name

    assert names["scheduler"] == "python manage.py scheduler --skip-checks"
    assert names["web"].startswith("gunicorn: master [crawlsite.wsgi]")
    assert names["worker.1"].startswith("rq:worker:")


def log_in(site) -> requests.Session:
    """A browser that has logged in with the password that was printed, and chosen another."""
    browser = requests.Session()
    base = f"http://127.0.0.1:{site.port}"
    token = re.search(
        r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(f"{base}/login/").text
    )[1]
    password = re.search(r"password (\S+)", "\n".join(site.lines()))[1]
    answer = browser.post(
        f"{base}/login/", {"username": "admin", "password": password, "csrfmiddlewaretoken": token}
    )
    assert answer.url.startswith(f"{base}/account/password/")
    choose_password(browser, base, password)
    return browser


def test_a_newcomer_sees_one_demo_crawl_run_and_the_other_wait(site):
    base = f"http://127.0.0.1:{site.port}"
    assert site.lines()[0] == f"Dashboard: {base}/"
    browser = log_in(site)

    eventually(lambda: "state-running" in browser.get(f"{base}/crawls/").text)

    crawls = browser.get(f"{base}/crawls/").text
    assert "Held by Demo: the library" in crawls
    bank = browser.get(f"{base}/resources/", allow_redirects=True).text
    assert "The state is <strong>safe</strong>" in bank
    assert "1 waiting" in bank
    health = {
        "postgresql": "ok",
        "pools": "ok",
        "redis": "ok",
        "workers": "ok",
        "scheduler": "ok",
    }
    eventually(lambda: requests.get(f"{base}/readyz").json() == health)
    assert browser.get(f"{base}/readyz").json() == health | {"workers": "2 for crawls"}
    style = re.search(r'href="(/static/design/[^"]*\.css)"', crawls)[1]
    assert browser.get(base + style).status_code == 200


@needs_root
def test_permissions_around_the_state_directory_stay_as_they_are(site):
    assert os.stat(site.state_dir.parent).st_mode & 0o777 == 0o755
    assert (site.state_dir / "secret_key").stat().st_mode & 0o777 == 0o600


def test_second_one_names_the_first_and_gives_up(site):
    rival = Supervisor(site.state_dir, WEB)

    assert rival.process.wait(timeout=60) == 1
    expected = rf"already running at http://127.0.0.1:{site.port}/ \(process {site.process.pid}\)"
    assert re.search(expected, rival.lines()[0])


def test_taken_port_is_named_with_the_way_out(site, start):
    late = start(WEB, PORT=str(site.port))

    assert late.process.wait(timeout=60) == 1
    assert re.search(rf"PORT: port {site.port} .*`make run PORT={site.port + 1}`", late.lines()[0])


def test_tests_run_beside_it(site, laid):
    """The suite's own state directory: no address and no lock in common."""
    status, out, errors = finish(
        services("--fast-and-loose", "--state-dir", laid, "exec", "echo", "beside")
    )

    assert (status, out.strip()) == (0, "beside"), errors


def test_commands_find_the_running_servers_and_plain_loopback_logs_in(site):
    login = f"http://127.0.0.1:{site.port}/admin/login/"
    password = site.manage("new_password").stdout.split()[-1]

    with requests.Session() as session:
        session.get(login, timeout=60)
        form = {
            "username": "admin",
            "password": password,
            "csrfmiddlewaretoken": session.cookies["csrftoken"],
        }
        answer = session.post(login, data=form, allow_redirects=False, timeout=60)

    assert answer.status_code == 302
    assert "sessionid" in answer.cookies


def test_process_that_dies_is_started_again_and_said_so(site):
    [worker, _] = workers_of(site)

    psutil.Process(worker).kill()

    site.until_it_says(
        r"^worker\.\d ended \(signal SIGKILL\) and starts again in 1 s; see .*worker\.\d\.log"
    )
    eventually(lambda: len(workers_of(site) - {worker}) == 2)


def workers_of(site) -> set[int]:
    return {worker.pid for worker in site.workers()}


def test_killed_database_comes_back(site):
    pid = int((site.state_dir / "pids/servers/postgres").read_text().split()[0])

    psutil.Process(pid).kill()

    site.until_it_says("postgres had ended and was started again")
    with psycopg.connect(database_url(site.state_dir)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.drill)]
)
def test_stop_leaves_nothing_running_within_ten_seconds(start, number):
    """Even of processes that ignore SIGTERM or left their process group."""
    stubborn = (
        "worker: python -m tests.crawlsite.supervisor.stubborn\n"
        if number == signal.SIGTERM
        else ""
    )
    running = start(WEB + stubborn)
    running.until_it_says("^ready")
    pids = running.pids()
    assert len(pids) >= 5

    began = time.monotonic()
    running.process.send_signal(number)

    assert running.process.wait(timeout=15) == 0
    assert time.monotonic() - began < 10
    assert still_running(pids) == []
    assert running.lines()[-2:] == ["stopping", "stopped"]
    assert not (running.state_dir / "urls.env").exists()


def test_kill_of_the_supervisor_ends_its_children_and_the_next_start_works(start):
    killed = start(WEB)
    killed.until_it_says("^ready")
    pids = killed.pids()

    killed.process.kill()
    again = start(WEB, PORT=str(killed.port))

    again.until_it_says("^ready")
    assert still_running(pids) == []


@pytest.mark.drill
def test_child_that_outlives_a_killed_supervisor_is_stopped_by_the_next_start(start):
    """Where the kernel tells children nothing of their parent's end, their notes do."""
    with_stranger = start(f"{WEB}other: {PYTHON} -c 'import time; time.sleep(600)'\n")
    with_stranger.until_it_says("^ready")
    note = (with_stranger.state_dir / "pids/stack/other").read_text()
    with_stranger.process.terminate()
    with_stranger.process.wait(timeout=15)
    orphan = subprocess.Popen(["sleep", "600"], start_new_session=True)
    created = psutil.Process(orphan.pid).create_time()
    (with_stranger.state_dir / "pids/stack/other").write_text(
        f"{orphan.pid} {created} {note.split()[2]}\n"
    )

    again = start(WEB)
    assert orphan.wait(timeout=60) == -signal.SIGTERM

    again.until_it_says("^ready")


def test_stop_during_the_preparations_stops_at_once(start):
    early = start(
        f'release: {PYTHON} -c \'import time; print("preparing", flush=True); '
        f"time.sleep(600)'\n{WEB}"
    )
    early.until_it_says("^preparing")
    pids = early.pids()

    early.process.send_signal(signal.SIGINT)

    assert early.process.wait(timeout=60) == 0
    assert still_running(pids) == []


def test_a_setting_that_the_product_cannot_use_is_told_in_one_line(start):
    """The supervisor imports the product, and is the one to say so."""
    wrong = start("scheduler: python manage.py scheduler\n", DATABASE_URL="postgresql:///x?no=1")

    assert wrong.process.wait(timeout=60) == 1
    assert wrong.lines()[-1].startswith("crawlsite: DATABASE_URL:")
    assert not wrong.says("Traceback")


def test_failing_preparation_stops_the_start(start):
    failing = start(f"release: {PYTHON} -c 'raise SystemExit(3)'\n{WEB}")

    assert failing.process.wait(timeout=60) == 1
    assert re.search(
        r"crawlsite: `.*raise SystemExit\(3\)` failed \(status 3\)", failing.lines()[-1]
    )


def test_a_preparation_that_does_not_exist_is_named_in_one_line(start):
    wrong = start(f"release: no-such-program\n{WEB}")

    assert wrong.process.wait(timeout=60) == 1
    assert wrong.lines()[-1].startswith(
        "crawlsite: no-such-program: No such file or directory; see the line `release`"
    )
    assert not wrong.says("Traceback")


def test_servers_of_ones_own_are_used_and_none_started(start, running):
    own = start(WEB, **running.addresses)
    own.until_it_says("^ready")

    assert not own.says("PostgreSQL|Valkey")
    assert not (own.state_dir / "pg18").exists()


def test_wrong_setting_is_one_line_that_names_it(start):
    wrong = start(WEB, WORKERS="many")

    assert wrong.process.wait(timeout=60) == 2
    assert len(wrong.lines()) == 1
    assert 'crawlsite: Environment variable "WORKERS" invalid' in wrong.lines()[0]


def test_reader_that_goes_away_stops_nothing(laid):
    """`make run | head -1`."""
    port, settings = free_port(), {"STATE_DIR": str(laid), "DEMO": "false"}
    (laid / "Procfile").write_text(WEB)
    process = subprocess.Popen(
        [sys.executable, "-m", "crawlsite.supervisor", "--procfile", laid / "Procfile"],
        cwd=PROJECT,
        env=environment(PORT=str(port), **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )

    process.stdout.readline()
    process.stdout.close()

    eventually(lambda: _answers(port))
    process.terminate()
    assert process.wait(timeout=15) == 0


def _answers(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/healthz", timeout=60).ok
    except requests.ConnectionError:
        return False


def test_what_a_killed_process_leaves_may_end_in_order_and_then_it_starts_again(start, place):
    """As a shift does whose worker was killed; one that does not end is killed."""
    running = start(WEB + f"worker: python -m tests.crawlsite.supervisor.orphaned {place}\n")
    eventually(lambda: (place / "left").exists())
    leader, orphan, deaf = map(int, (place / "left").read_text().split())

    os.kill(leader, signal.SIGKILL)

    eventually(lambda: (place / "in order").exists())
    eventually(lambda: not still_running([orphan, deaf]))
    running.until_it_says("^worker ended")
