import socket
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest
from requests.exceptions import ConnectionError, InvalidURL, ReadTimeout, SSLError

from crawling.web.fetch.adapter import PinnedRequest, PinnedSession
from crawling.web.vetting import AllowedRange, vet
from dnscache.lookup import query_name
from tests.servers import make_certificate, require_openssl, tls_context

AGENT = {"User-Agent": "test"}


@pytest.fixture
def session():
    with PinnedSession() as session:
        yield session


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    require_openssl()
    return make_certificate(tmp_path_factory.mktemp("tls"), "secure.test", "other.test")


def text(session, url, *, headers=AGENT, timeout=(5, 5), **options):
    """Read an answer to its end."""
    request = PinnedRequest(url, headers=headers, **options)
    with session.send(request, timeout=timeout) as response:
        return response.content.decode()


def test_the_socket_goes_to_the_address_and_the_name_into_the_host_header(session, make_site):
    first, second = (
        make_site({"/": "first"}, address="127.0.0.2"),
        make_site({"/": "second"}, address="127.0.0.3"),
    )
    url = f"http://no-such-name.test:{first.port}/"

    assert text(session, url, address="127.0.0.2") == "first"

    assert [(request.host, request.user_agent) for request in first.log] == [
        (f"no-such-name.test:{first.port}", "test")
    ]
    assert not second.log


def test_a_path_with_its_query_arrives_as_it_was_written(session, make_site):
    site = make_site({"/a%20b": "yes"})

    text(session, f"http://a.test:{site.port}/a%20b?q=%C3%BC&r=1", address=site.address)

    assert site.paths == ["/a%20b?q=%C3%BC&r=1"]


def test_connections_are_kept_for_the_next_request(session, make_site):
    site = make_site({"/": "x" * 100_000})

    for _ in range(20):
        assert len(text(session, f"http://a.test:{site.port}/", address=site.address)) == 100_000

    assert (len(site.log), len(site.connections)) == (20, 1)


def test_connections_are_not_shared_between_names_or_addresses(session, make_site):
    site = make_site({"/": "hello"}, address="0.0.0.0")
    ways = [
        ("a.test", "127.0.0.1"),
        ("b.test", "127.0.0.1"),
        ("a.test", "127.0.0.2"),
        ("a.test", "127.0.0.1"),
    ]

    for name, address in ways:
        text(session, f"http://{name}:{site.port}/", address=address)

    assert len(site.connections) == 3


def test_a_redirect_is_handed_back_not_followed(session, make_site):
    inside = make_site({"/secret": "no"}, address="127.0.0.3")
    site = make_site({"/": (302, {"Location": f"{inside.url}/secret"}, "")})

    request = PinnedRequest(f"{site.url}/", address=site.address, headers=AGENT)
    with session.send(request) as response:
        assert (response.status_code, response.headers["Location"]) == (302, f"{inside.url}/secret")
    assert not inside.connections


def test_a_name_that_moves_home_after_vetting_is_fetched_where_it_was(
    session, make_site, dns_server
):
    """Rebinding: the first answer is vetted and dialled; what DNS says next is never asked for."""
    outside, home = (
        make_site({"/": "outside"}, address="127.0.0.5"),
        make_site({"/": "home"}, address="127.0.0.6"),
    )
    permission = AllowedRange(ip_network("127.0.0.5/32"), 1, 65535)
    dns_server.hosts["moving.test"] = ["127.0.0.5"]
    addresses = _addresses("moving.test", dns_server)
    dns_server.hosts["moving.test"] = ["127.0.0.6"]

    (address,) = vet(addresses, outside.port, allowed=[permission], forbidden=frozenset()).permitted

    assert text(session, f"http://moving.test:{outside.port}/", address=address) == "outside"
    assert not home.connections
    assert dns_server.count("moving.test", "A") == 1
    assert not vet(
        _addresses("moving.test", dns_server),
        home.port,
        allowed=[permission],
        forbidden=frozenset(),
    ).permitted


def test_neither_proxies_nor_passwords_of_the_environment_are_used(
    session, make_site, monkeypatch, tmp_path
):
    site = make_site({"/": "direct"})
    (tmp_path / ".netrc").write_text("machine a.test login me password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    assert text(session, f"http://a.test:{site.port}/", address=site.address) == "direct"
    assert "Authorization" not in site.log[0].headers


def test_cookies_are_not_carried_from_page_to_page(session, make_site):
    site = make_site({"/": (200, {"Set-Cookie": "id=1; Path=/"}, "x")})

    for _ in range(2):
        text(session, f"{site.url}/", address=site.address)

    assert "Cookie" not in site.log[1].headers


def test_a_request_without_a_vetted_address_is_not_sent(session, make_site):
    site = make_site({"/": "x"})

    with pytest.raises(TypeError, match="address"):
        text(session, f"{site.url}/")
    with pytest.raises(ValueError, match=r"a\.test"):
        text(session, f"{site.url}/", address="a.test")
    assert not site.connections


@pytest.mark.parametrize("url", ["ftp://a.test/", "/relative", "http:///x"])
def test_what_is_no_web_address_is_refused(session, url):
    with pytest.raises(InvalidURL):
        text(session, url, address="127.0.0.1")


def test_a_header_cannot_smuggle_another(session, make_site):
    site = make_site({"/": "x"})

    with pytest.raises(ValueError, match="header"):
        text(
            session, f"{site.url}/", address=site.address, headers={"User-Agent": "x\r\nEvil: yes"}
        )


def test_a_refused_connection_is_an_error_that_names_the_address(session):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://a.test:{closed.getsockname()[1]}/"
        with pytest.raises(ConnectionError, match=r"127\.0\.0\.1"):
            text(session, url, address="127.0.0.1")


def test_a_server_that_stays_silent_is_a_read_timeout(session, make_site):
    over = threading.Event()
    site = make_site({"/": lambda request: (over.wait(10), (200, {}, "late"))[1]})

    with pytest.raises(ReadTimeout):
        text(session, f"{site.url}/", address=site.address, timeout=(1, 0.1))
    over.set()


def test_https_goes_by_the_name_for_sni_and_certificate(make_site, certificate):
    names = []
    context = tls_context(certificate)
    context.sni_callback = lambda connection, name, _: names.append(name)
    site = make_site({"/": "safe"}, address="127.0.0.4", tls=context)

    with PinnedSession(authorities=str(certificate)) as session:
        for _ in range(3):
            assert text(session, f"https://secure.test:{site.port}/", address="127.0.0.4") == "safe"

    assert names == ["secure.test"]
    assert len(site.connections) == 1


def test_a_new_connection_tells_when_the_certificate_ends(make_site, certificate):
    site = make_site({"/": "safe"}, tls=tls_context(certificate))
    address = f"https://secure.test:{site.port}/"

    with PinnedSession(authorities=str(certificate)) as session:
        request = PinnedRequest(address, headers=AGENT, address=site.address)
        new, kept = (session.send(request).raw for _ in range(2))

    left = new.certificate_ends_at - datetime.now(UTC)
    assert timedelta(days=1) < left < timedelta(days=3)
    assert kept.certificate_ends_at is None
    new.close()
    kept.close()


def test_https_refuses_a_certificate_for_another_name(make_site, certificate):
    site = make_site({"/": "safe"}, tls=tls_context(certificate))

    with PinnedSession(authorities=str(certificate)) as session:
        with pytest.raises(SSLError, match="no alternative certificate subject name"):
            text(session, f"https://wrong.test:{site.port}/", address=site.address)
        with pytest.raises(SSLError, match="no alternative certificate subject name"):
            text(session, f"https://127.0.0.1:{site.port}/", address=site.address)
    assert not site.log


def test_https_refuses_an_authority_that_nobody_trusts(session, make_site, certificate):
    site = make_site({"/": "safe"}, tls=tls_context(certificate))

    with pytest.raises(SSLError, match="self-signed"):
        text(session, f"https://secure.test:{site.port}/", address=site.address)
    assert not site.log


def _addresses(name, dns_server):
    return query_name(name, seconds=5, servers=(dns_server.address,)).addresses
