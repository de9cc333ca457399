"""The connection that protocols of packages get, against servers that misbehave."""

from __future__ import annotations

import time

import pytest

from crawling.web.addresses import read_address
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.scheme_task import FetchTask
from crawling.web.fetch.tcp_connection import fetch_by_dialogue
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import serve_raw


def task(url, **fields):
    usual = {
        "max_bytes": 100_000,
        "received": lambda count: None,
        "may_dial": lambda port: True,
        "connect_seconds": 2.0,
        "read_seconds": 0.2,
        "document_seconds": 0.5,
    }
    return FetchTask(read_address(url), "127.0.0.1", **{**usual, **fields})


def all_of_it(connection):
    connection.send(b"GET\r\n")
    return Fetched(200, {}, connection.receive_rest())


def first_line(connection):
    connection.send(b"GET\r\n")
    return Fetched(200, {"line": connection.receive_line().decode()})


def drips(connection):
    connection.recv(100)
    try:
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)
    except OSError:
        pass


def floods(connection):
    connection.recv(100)
    try:
        while True:
            connection.sendall(b"x" * 4096)
    except OSError:
        pass


def is_silent(connection):
    while connection.recv(100):
        pass


def answers(connection):
    connection.recv(100)
    connection.sendall(b"first\r\nsecond")


@pytest.mark.parametrize(
    ("server", "dialogue", "fields", "status"),
    [
        (answers, all_of_it, {}, 200),
        (is_silent, all_of_it, {}, FetchStatus.TIMED_OUT),
        (drips, all_of_it, {}, FetchStatus.TIMED_OUT),
        (floods, all_of_it, {}, FetchStatus.TOO_BIG),
        (floods, first_line, {}, FetchStatus.BROKEN_ANSWER),
        (is_silent, all_of_it, {"is_cut": lambda: True}, FetchStatus.BROKEN_ANSWER),
    ],
)
def test_a_dialogue_ends_whatever_the_server_does(server, dialogue, fields, status):
    began = time.monotonic()
    with serve_raw(server) as (url, _):
        fetched = fetch_by_dialogue(task(url, **fields), dialogue)
    fetched.close()

    assert fetched.status == status
    assert time.monotonic() - began < 3


def test_lines_and_what_follows_them_are_received_and_counted():
    counts = []

    def dialogue(connection):
        connection.send(b"GET\r\n")
        line = connection.receive_line().decode()
        return Fetched(200, {"line": line}, connection.receive_rest())

    with serve_raw(answers) as (url, _):
        fetched = fetch_by_dialogue(task(url, received=counts.append), dialogue)

    assert (fetched.headers["line"], fetched.body.read()) == ("first", b"second")
    assert sum(counts) == len(b"first\r\nsecond")
    fetched.close()


def test_a_server_that_does_not_listen_is_an_outage(free_port):
    fetched = fetch_by_dialogue(task(f"http://127.0.0.1:{free_port}/"), all_of_it)

    assert fetched.status == FetchStatus.CONNECT_FAILED
