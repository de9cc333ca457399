"""Each phase of a fetch has a limit of its own, as the order says (SEEDS B1)."""

import socket
import time

import pytest

from crawling.orders.sections.fetching import FetchingPart
from crawling.web.addresses import read_address
from crawling.web.statuses import FetchStatus
from tests.crawling.contexts import make_client
from tests.crawling.raw import OK, read_request, serve_raw

pytestmark = pytest.mark.slow

#: what each phase may take: the whole of the first two servers' answers takes 0.8 s, the third's
#: 1.2
PHASES = {"first_byte_seconds": 0.4, "read_seconds": 0.4, "document_seconds": 1.0}
HEAD = OK + b"Content-Length: 8\r\n\r\n"


def begins_late(connection):
    read_request(connection)
    time.sleep(0.8)
    connection.sendall(HEAD + b"01234567")


def pauses(connection):
    read_request(connection)
    connection.sendall(HEAD + b"0123")
    time.sleep(0.8)
    connection.sendall(b"4567")


def drips(connection):
    read_request(connection)
    connection.sendall(HEAD)
    for _ in range(8):
        time.sleep(0.15)
        connection.sendall(b"x")


def got(url, **seconds):
    fetched = make_client(fetching=FetchingPart(**seconds)).get(read_address(url), "127.0.0.1")
    fetched.close()
    return fetched


@pytest.mark.parametrize(
    ("talk", "phase"),
    [(begins_late, "first_byte_seconds"), (pauses, "read_seconds"), (drips, "document_seconds")],
)
def test_what_is_too_slow_in_one_phase_breaks_its_limit_and_no_other(talk, phase):
    def late(connection):
        try:
            talk(connection)
        except OSError:  # hung up on, as it must be
            return

    found = {}
    for tight, seconds in PHASES.items():
        with serve_raw(late) as (url, _):
            found[tight] = got(url, **{tight: seconds}).status

    is_whole = phase == "document_seconds"
    broken = FetchStatus.TOO_SLOW if is_whole else FetchStatus.TIMED_OUT
    assert found == {**dict.fromkeys(PHASES, 200), phase: broken}


def test_a_server_that_takes_up_no_connection_is_left_after_the_time_for_connecting():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.socket() as waiting:
        waiting.connect(listener.getsockname())  # the only place in the queue
        began = time.monotonic()
        fetched = got(f"http://127.0.0.1:{listener.getsockname()[1]}/", connect_seconds=0.4)

    assert fetched.status == FetchStatus.TIMED_OUT
    assert 0.4 <= time.monotonic() - began < 3


def test_without_a_word_in_the_order_connecting_and_reading_may_take_five_seconds():
    usual = FetchingPart()

    assert (
        usual.connect_seconds,
        usual.first_byte_seconds,
        usual.read_seconds,
        usual.document_seconds,
    ) == (5, 5, 5, 60)
