"""The plan that the Procfile and the settings give the supervisor: which programs, and where."""

import socket
from dataclasses import replace

import pytest

from crawlsite import env
from crawlsite.services.stops import StartError
from crawlsite.supervisor.procfile import (
    bind_host,
    check_free,
    dashboard_url,
    found_dashboard_url,
    local_address,
    read_procfile,
    variables,
)
from tests.crawlsite.programs import PROJECT, free_port


@pytest.fixture
def environment(tmp_path):
    return replace(
        env.read(),
        host="127.0.0.1",
        port=8000,
        public_url="",
        workers=2,
        web_threads=8,
        demo=True,
        demo_port=8010,
        dns_ahead="gate",
        replay_port=free_port(),
        state_dir=tmp_path,
    )


@pytest.fixture
def plan(environment):
    def plan(**changes):
        changed = replace(environment, **changes)
        return read_procfile(PROJECT / "Procfile", changed, variables(changed, platform="linux"))

    return plan


def test_product_consists_of_web_workers_background_idle_importer_scheduler_and_demo(plan):
    assert list(plan().commands) == [
        "web",
        "worker.1",
        "worker.2",
        "background",
        "idle",
        "importer",
        "scheduler",
        "preresolver",
        "replay",
        "demo",
    ]


def test_workers_and_demo_follow_the_settings(plan):
    assert list(plan(workers=1, demo=False).commands) == [
        "web",
        "worker",
        "background",
        "idle",
        "importer",
        "scheduler",
        "preresolver",
        "replay",
    ]
    assert "preresolver" not in plan(dns_ahead="off").commands


def test_the_replay_is_left_out_where_its_port_is_taken_and_nothing_is_installed(plan):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "replay" not in plan(replay_port=port).commands
    assert "replay" not in plan(replay_port=8010).commands


def test_web_server_listens_where_the_settings_say(plan):
    command = plan(host="::1", port=8080, web_threads=3).commands["web"]

    assert command[command.index("--bind") + 1] == "[::1]:8080"
    assert command[command.index("--threads") + 1] == "3"


def test_preparations_run_in_order(tmp_path, environment):
    (tmp_path / "Procfile").write_text("release: migrate --all && set-up $PORT\n")

    processes = read_procfile(tmp_path / "Procfile", environment, {"PORT": "8000"})

    assert processes.release == [["migrate", "--all"], ["set-up", "8000"]]


def test_a_start_is_prepared_by_one_program(plan):
    """Each would begin with a second of imports, and a machine that lost its power waits for all of
    them.
    """
    assert [command[2] for command in plan().release] == ["release"]


def test_macos_gets_workers_that_do_not_fork(environment):
    """Rule 15."""
    assert (
        variables(environment, platform="darwin")["BACKGROUND_WORKER_CLASS"]
        == "crawling.fetching.worker.background_worker.BackgroundSpawnWorker"
    )
    assert (
        variables(environment, platform="linux")["BACKGROUND_WORKER_CLASS"]
        == "crawling.fetching.worker.background_worker.BackgroundWorker"
    )


def test_misspelt_setting_in_the_procfile_is_named(tmp_path, environment):
    (tmp_path / "Procfile").write_text("web: serve --port $PROT\n")

    with pytest.raises(StartError, match="there is no setting 'PROT'"):
        read_procfile(tmp_path / "Procfile", environment, variables(environment, platform="linux"))


@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({}, "http://127.0.0.1:8000/"),
        ({"host": "0.0.0.0"}, "http://127.0.0.1:8000/"),
        ({"host": "::", "port": 81}, "http://[::1]:81/"),
        ({"public_url": "https://crawls.example.org"}, "https://crawls.example.org/"),
    ],
)
def test_dashboard_is_what_an_operator_types(environment, changes, address):
    assert dashboard_url(replace(environment, **changes)) == address


def test_links_of_commands_lead_to_the_product_that_runs_with_the_state_directory(
    environment, tmp_path
):
    mine = replace(environment, state_dir=tmp_path, public_url="", port=8000)
    assert found_dashboard_url(mine) == dashboard_url(mine)

    note = "at http://127.0.0.1:8791/ (process 1)"
    (tmp_path / "supervisor.lock").write_text(note)
    assert found_dashboard_url(mine) == "http://127.0.0.1:8791/"
    public = replace(mine, public_url="https://crawls.example.org")
    assert found_dashboard_url(public) == "https://crawls.example.org/"
    elsewhere = replace(mine, port=8792)
    assert found_dashboard_url(elsewhere) == dashboard_url(elsewhere)


def test_machine_itself_is_asked_even_behind_a_proxy(environment):
    assert (
        local_address(replace(environment, public_url="https://crawls.example.org"))
        == "http://127.0.0.1:8000"
    )
    assert bind_host("[::1]") == "[::1]"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"demo_port": 8000}, "PORT and DEMO_PORT"),
        ({"host": "192.0.2.1"}, "PORT: port 8000 on 192.0.2.1"),
        ({"host": 64 * "x"}, "HOST"),
    ],
)
def test_address_that_cannot_be_used_names_its_variable(environment, changes, named):
    with pytest.raises(StartError, match=named):
        check_free(replace(environment, **changes))
