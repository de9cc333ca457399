"""Settings from the environment: nonsense stops the start and names its variable."""

import os
import stat
import subprocess
import sys
from dataclasses import replace

import pytest

from crawlsite import env
from crawlsite.server_settings import own_service_addresses
from tests.crawlsite.programs import PROJECT, environment

NONSENSE = [
    ("DATABASE_URL", "mysql://db/x"), ("DATABASE_URL", "postgresql://["),
    ("REDIS_URL", "http://queue"), ("REDIS_URL", "redis://queue:six"),
    ("STATE_DIR", "/dev/null"), ("DEBUG", "maybe"), ("HOST", ""), ("PORT", ""), ("PORT", "eight"),
    ("PORT", "0"), ("PORT", "65536"), ("PUBLIC_URL", "crawls.example.org"),
    ("PUBLIC_URL", "https://"), ("PUBLIC_URL", "https://a.example/below"),
    ("PUBLIC_URL", "https://a.example:x"), ("WORKERS", "0"), ("WORKERS", "two"),
    ("BROWSER_PAGES", "-1"), ("BROWSER_PAGES", "65"), ("DATABASE_DIRECT_URL", "db.example"),
    ("WEB_THREADS", "-1"), ("DEMO", "perhaps"), ("WEB_PROCESSES", "0"), ("DEMO_PORT", "x"),
    ("REPLAY_PORT", "0"), ("REPLAY_URL", "replay.example.org"),
    ("REPLAY_URL", "https://replay"), ("REPLAY_URL", "http://10.0.0.7:8020"),
    ("REPLAY_URL", "http://[2001:db8::7]"),
    ("DNS_SERVERS", ":53"), ("DNS_AHEAD", "yes"), ("DNS_SERVERS", "192.0.2.1:x"),
    ("DNS_AHEAD_FIRST", "links"),
    ("BANK_LEASE_SECONDS", "0"), ("BANK_LEASE_SECONDS", "nan"), ("BANK_PICKUP_SECONDS", "-1"),
    ("CRAWL_SLICE_SECONDS", "soon"), ("CRAWLS_WAITING_MAX", "0"),
    ("LOG_LEVEL", "loud"), ("ARCHIVE_DIR", "/dev/null/x"),
    ("ARCHIVE_URL", "https://bucket"), ("ARCHIVE_URL", "s3://"), ("ARCHIVE_URL", "s3://a_b"),
    ("ARCHIVE_FILE_BYTES", "0"), ("IMPORT_DIR", "/dev/null/x"),
    ("SEED_DIR", "/dev/null/x"), ("CHECKPOINT_DIR", "/dev/null/x"), ("CHECKPOINT_MINUTES", "0"),
    ("CHECKPOINTS_KEPT", "0"), ("MAIL_URL", "imap://mail.example"), ("MAIL_URL", "smtp://"),
    ("MAIL_URL", "smtp://mail.example:x"), ("MAIL_FROM", "nobody"), ("API_REQUESTS_A_MINUTE", "0"),
    ("LOG_FORMAT", "xml"),
]  # fmt: skip


@pytest.mark.parametrize(("variable", "value"), NONSENSE)
def test_nonsense_names_its_variable(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)

    with pytest.raises(env.BadSetting, match=f'"{variable}"'):
        env.read()


def test_every_variable_that_can_be_wrong_is_tried_above():
    assert {name for name, _ in NONSENSE} == set(env.Environment.names()) - {"SECRET_KEY"}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "eight"),
        ("DATABASE_URL", "postgresql://db.example/y?no_such=1"),
        ("DATABASE_URL", "postgresql://db.example:port/y"),
        ("DATABASE_DIRECT_URL", "postgresql://db.example:port/y"),
    ],
)
def test_commands_give_one_line_and_no_traceback(tmp_path, variable, value):
    wrong = environment(STATE_DIR=str(tmp_path), **{variable: value})
    answer = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=PROJECT,
        env=wrong,
        capture_output=True,
        text=True,
    )

    assert answer.returncode == 1
    assert variable in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("address", "servers"),
    [
        ("postgresql://127.0.0.1,127.0.0.2:5433/x", {("127.0.0.1", 5432), ("127.0.0.2", 5433)}),
        (
            "postgresql:///x?host=127.0.0.1,127.0.0.2&port=6000",
            {("127.0.0.1", 6000), ("127.0.0.2", 6000)},
        ),
        ("postgresql:///x?host=/run/postgresql", set()),
    ],
)
def test_each_server_of_a_database_address_is_our_own(address, servers):
    """So no crawl is led to a standby either."""
    settings = replace(env.read(), database_url=address, redis_url="unix:///run/valkey")

    found = own_service_addresses(settings)

    assert {one for one in found if one[1] not in (settings.port, settings.replay_port)} == servers


def test_the_server_behind_a_pooler_is_our_own_as_well():
    settings = replace(
        env.read(),
        database_url="postgresql://127.0.0.1:6432/x",
        database_direct_url="postgresql://127.0.0.2/x",
    )

    assert {("127.0.0.1", 6432), ("127.0.0.2", 5432)} <= own_service_addresses(settings)


def test_command_without_a_running_database_says_how_to_get_one(tmp_path):
    """Also after a crash: a urls.env that was left behind has no effect."""
    (tmp_path / "urls.env").write_text("DATABASE_URL=postgresql://app@/crawlsite?host=/gone\n")
    answer = subprocess.run(
        [sys.executable, "manage.py", "new_password"],
        cwd=PROJECT,
        env=environment(STATE_DIR=str(tmp_path)),
        capture_output=True,
        text=True,
    )

    assert answer.returncode == 1
    assert answer.stderr.startswith(
        "crawlsite: no database answers. Start it with `make run`, or set DATABASE_URL."
    )
    assert "Traceback" not in answer.stderr


def test_secret_key_is_made_once_and_kept_private(monkeypatch, tmp_path):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setenv("STATE_DIR", str(tmp_path / "new"))

    assert env.read().secret_key == env.read().secret_key
    assert stat.S_IMODE(os.stat(tmp_path / "new/secret_key").st_mode) == 0o600


def test_addresses_that_nobody_set_are_the_embedded_servers(monkeypatch, tmp_path):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("REDIS_URL", "redis://queue.example/3")
    monkeypatch.setenv("STATE_DIR", str(tmp_path))

    assert env.read().database_url.startswith("postgresql://app@/crawlsite?host=")
    assert env.read().redis_url == "redis://queue.example/3"
    assert env.embedded_server_names() == ("postgres",)
