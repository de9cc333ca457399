"""An order's secrets reach the origins that it named: not the same host by another scheme."""

from __future__ import annotations

import socket
import threading
from contextlib import closing

import pytest

from crawling.fetching.pipeline.client import Client
from crawling.orders.sections.fetching import FetchingPart
from crawling.web.addresses import read_address
from crawling.web.secret_headers import Recipients
from tests.crawling.contexts import make_client

BASIC = (401, {"WWW-Authenticate": 'Basic realm="x"'}, "")


def recipients(*seeds: str) -> Recipients:
    return Recipients.of_seeds([read_address(seed) for seed in seeds])


@pytest.mark.parametrize(
    ("seed", "url", "headers", "password"),
    [
        ("https://api.test/", "https://api.test/x", True, True),
        ("https://api.test/", "http://api.test/x", False, False),
        ("https://api.test/", "ftp://api.test/x", False, False),
        ("https://api.test/", "https://api.test:8443/x", False, True),
        ("https://api.test/", "https://www.api.test/x", False, True),
        ("http://api.test/", "http://api.test/x", True, True),
        ("http://api.test/", "https://api.test/x", True, True),
        ("http://api.test/", "http://api.test:8080/x", False, False),
        ("http://api.test:8080/", "https://api.test:8080/x", False, True),
        ("ftp://api.test/", "ftp://api.test/x", True, True),
        ("ftp://api.test/", "http://api.test/x", False, False),
    ],
)
def test_secrets_go_by_scheme_name_and_port(seed, url, headers, password):
    asked = recipients(seed)

    assert asked.may_have_header("X-Api-Key", read_address(url)) is headers
    assert asked.may_have_password(read_address(url)) is password


def test_log_in_fields_go_to_the_site_that_all_of_them_were_given_for():
    a, b = frozenset({"https://a.test"}), frozenset({"https://b.test"})
    bound = Recipients(bound={("login_fields", "user"): a | b, ("login_fields", "password"): a})

    for name, may in (("a", True), ("b", False), ("c", False)):
        address = read_address(f"https://{name}.test/login")
        assert bound.may_have_login(["user", "password"], address) is may
    assert not bound.may_have_header("user", read_address("https://a.test/"))


def client_for(seed: str) -> Client:
    """The client of an order with secrets for the seed's host."""
    address = read_address(seed)
    password = {address.host_key: "me:hunter2"}
    asks = FetchingPart(headers={"X-Api-Key": "hunter2"}, credentials=password)
    return make_client(fetching=asks, recipients=Recipients.of_seeds([address]))


def sent_secrets(request) -> set[str]:
    return {"X-Api-Key", "Authorization"} & set(request.headers)


@pytest.mark.parametrize(
    ("scheme", "first", "then"),
    [("https", set(), set()), ("http", {"X-Api-Key"}, {"X-Api-Key", "Authorization"})],
)
def test_secrets_for_https_are_not_sent_by_http_even_when_asked(make_site, scheme, first, then):
    site = make_site({"/": BASIC})
    client = client_for(f"{scheme}://127.0.0.1:{site.port}/")
    address = read_address(f"{site.url}/")

    for _ in range(2):
        with closing(client.get(address, "127.0.0.1")) as fetched:
            assert fetched.status == 401

    assert [sent_secrets(request) for request in site.log] == [first, then]


def test_a_challenge_of_the_plain_origin_is_not_answered_to_the_encrypted_one():
    client = client_for("http://api.test/")
    session = client.session_of("api.test")
    session.challenges["http://api.test"] = 'Basic realm="x"'

    asked = [read_address(f"{scheme}://api.test/") for scheme in ("http", "https")]
    answers = [session.authorization("me:hunter2", address, "GET") for address in asked]

    assert [bool(answer) for answer in answers] == [True, False]


@pytest.mark.parametrize(("scheme", "user"), [("https", b"anonymous"), ("ftp", b"me")])
def test_ftp_is_told_no_password_unless_a_seed_is_ftp(scheme, user):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, heard = listener.getsockname()[1], []

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"220 hello\r\n")
                heard.append(connection.recv(1000))
                connection.sendall(b"421 no\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        client = client_for(f"{scheme}://127.0.0.1:{port}/")
        client.get(read_address(f"ftp://127.0.0.1:{port}/x"), "127.0.0.1").close()
        thread.join()

    assert heard == [b"USER " + user + b"\r\n"]
