"""Challenges are read by RFC 9110, and answered by RFC 7616 and RFC 7617."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from requests.utils import parse_dict_header

from crawling.web.addresses import read_address
from crawling.web.fetch.challenges import (
    Challenge,
    DigestSession,
    read_challenges,
    strongest_challenge,
)
from crawling.web.fetch.host_session import LONGEST_CHALLENGE, MOST_ORIGINS, HostSession

DIGEST = 'Digest realm="r", nonce="n"'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Basic realm="a"', [("basic", {"realm": "a"})]),
        ("basic realm=a", [("basic", {"realm": "a"})]),
        ("Negotiate, NTLM, BASIC realm=x",
         [("negotiate", {}), ("ntlm", {}), ("basic", {"realm": "x"})]),
        ("Negotiate YII+/=, Basic realm=x", [("negotiate", {}), ("basic", {"realm": "x"})]),
        ('Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple"',
         [("newauth", {"realm": "apps", "type": "1", "title": 'Login to "apps"'}),
          ("basic", {"realm": "simple"})]),
        ('Bearer error="Digest realm, Basic x", Basic realm="y"',
         [("bearer", {"error": "Digest realm, Basic x"}), ("basic", {"realm": "y"})]),
        ('Digest REALM = "a" , nonce=b,qop="auth,auth-int"',
         [("digest", {"realm": "a", "nonce": "b", "qop": "auth,auth-int"})]),
        (', ,Basic realm="a",', [("basic", {"realm": "a"})]),
        ('Basic realm="a', [("basic", {"realm": "a"})]),
        ('Basic realm=a, realm=b', [("basic", {"realm": "a"})]),
        ('Basic @@, Digest realm=r', [("basic", {}), ("digest", {"realm": "r"})]),
        ("realm=x, Basic", [("basic", {})]),
        ("", []),
    ],
)  # fmt: skip
def test_challenges_are_told_apart(text, found):
    assert [(one.scheme, dict(one.parameters)) for one in read_challenges(text)] == found


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (f"Basic realm=x, {DIGEST}", ("digest", None)),
        (f"{DIGEST}, algorithm=MD5, {DIGEST}, algorithm=SHA-256", ("digest", "SHA-256")),
        (f"{DIGEST}, algorithm=SHA-512-256-sess, {DIGEST}", ("digest", "SHA-512-256-sess")),
        (f"{DIGEST}, algorithm=ROT13, Basic realm=x", ("basic", None)),
        (f"{DIGEST}, qop=strange, Basic realm=x", ("basic", None)),
        ("Digest realm=x, Basic realm=x", ("basic", None)),
        ('Bearer scope="digest basic"', None),
        ("Negotiate, NTLM", None),
    ],
)
def test_the_strongest_challenge_that_can_be_answered_is(text, chosen):
    challenge = strongest_challenge(read_challenges(text))

    assert (challenge and (challenge.scheme, challenge.parameters.get("algorithm"))) == chosen


def test_the_answers_of_the_standards_own_examples():
    asked = {
        "realm": "http-auth@example.org",
        "qop": "auth, auth-int",
        "nonce": "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
        "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
    }
    own = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    responses = {
        "MD5": "8ca523f5e9506fed4657c9700eebdbec",
        "SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
    }
    for name, response in responses.items():
        challenge = Challenge("digest", {**asked, "algorithm": name})
        session = DigestSession(challenge, "Mufasa", "Circle of Life", own)
        said = parse_dict_header(session.answer("GET", "/dir/index.html", b"").split(" ", 1)[1])
        assert (said["response"], said["nc"], said["algorithm"]) == (response, "00000001", name)
        again = parse_dict_header(session.answer("GET", "/dir/index.html", b"").split(" ", 1)[1])
        assert (again["nc"], again["response"] == response) == ("00000002", False)


def test_a_name_is_hashed_or_written_as_the_server_wants_it():
    asked = {
        "realm": "api@example.org",
        "qop": "auth",
        "algorithm": "SHA-512-256",
        "nonce": "5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK",
        "opaque": "HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS",
        "charset": "UTF-8",
        "userhash": "true",
    }
    user, own = "J\u00e4s\u00f8n Doe", "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm"
    hashed = DigestSession(Challenge("digest", asked), user, "Secret, or not?", own)
    written = DigestSession(Challenge("digest", asked | {"userhash": "false"}), user, "x", own)
    said = hashed.answer("GET", "/doe.json", b"")

    expected = hashlib.new("sha512_256", f"{user}:api@example.org".encode()).hexdigest()
    assert f'username="{expected}"' in said
    assert "userhash=true" in said
    assert "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe" in written.answer("GET", "/", b"")


@pytest.mark.parametrize(
    ("more", "secret", "asking"),
    [
        ("", "{a1}", "POST:/x;y=1?a;b"),
        (', qop="auth-int"', "{a1}", "POST:/x;y=1?a;b:{body}"),
        (", algorithm=MD5-sess, qop=auth", "{session}", "POST:/x;y=1?a;b"),
    ],
)
def test_every_kind_of_answer_is_what_the_standard_calculates(more, secret, asking):
    def md5(text):
        return hashlib.md5(text.encode()).hexdigest()

    challenge = strongest_challenge(read_challenges(DIGEST + more))
    session = DigestSession(challenge, "me", "pw", "own")
    said = parse_dict_header(session.answer("POST", "/x;y=1?a;b", b"body").split(" ", 1)[1])

    a1 = md5("me:r:pw")
    key = secret.format(a1=a1, session=md5(f"{a1}:n:own"))
    middle = f"{said['nc']}:own:{said['qop']}:" if "qop" in said else ""
    assert said["uri"] == "/x;y=1?a;b"
    assert said["response"] == md5(f"{key}:n:{middle}{md5(asking.format(body=md5('body')))}")


def test_quotation_marks_in_a_realm_come_back_as_they_came():
    challenge = strongest_challenge(read_challenges('Digest realm="a \\"b\\" \\\\c", nonce="n"'))

    said = DigestSession(challenge, 'm"e', "pw").answer("GET", "/", b"")

    assert 'realm="a \\"b\\" \\\\c"' in said
    assert 'username="m\\"e"' in said


def test_a_new_nonce_begins_a_new_count():
    session, address = HostSession(), read_address("http://a.test/")
    session.keep_challenge(address.origin, 401, {"WWW-Authenticate": f"{DIGEST}, qop=auth"})
    first = [session.authorization("me:pw", address, "GET") for _ in range(2)]
    renewed = 'Digest realm="r", nonce="n2", qop=auth, stale=true'
    session.keep_challenge(address.origin, 401, {"WWW-Authenticate": renewed})
    later = session.authorization("me:pw", address, "GET")

    counts = [parse_dict_header(said.split(" ", 1)[1])["nc"] for said in (*first, later)]
    assert counts == ["00000001", "00000002", "00000001"]
    assert 'nonce="n2"' in later


def test_requests_at_once_have_numbers_of_their_own():
    """As those of a page in a browser. The hash of a long body lets other threads go on."""
    session, address = HostSession(), read_address("http://a.test/")
    challenge = {"WWW-Authenticate": f'{DIGEST}, qop="auth-int"'}
    session.keep_challenge(address.origin, 401, challenge)
    body = bytes(4 * 1024 * 1024)

    def number(_):
        session.keep_challenge(address.origin, 401, challenge)
        said = session.authorization("me:pw", address, "POST", body)
        return parse_dict_header(said.split(" ", 1)[1])["nc"]

    with ThreadPoolExecutor(4) as threads:
        numbers = list(threads.map(number, range(8)))

    assert sorted(numbers) == [f"{count:08x}" for count in range(1, 9)]


def test_what_a_host_challenges_with_is_bounded():
    session = HostSession()
    for port in range(2 * MOST_ORIGINS):
        session.keep_challenge(f"http://a.test:{port}", 401, {"WWW-Authenticate": "Basic"})
    session.keep_challenge(
        "http://a.test", 401, {"WWW-Authenticate": "Basic" + " " * LONGEST_CHALLENGE}
    )

    assert len(session.challenges) <= MOST_ORIGINS
    assert session.challenges["http://a.test"] == ""
    assert session.authorization("a:b", read_address("http://a.test/"), "GET") == ""
