import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnscache.protocol.names import BadName, DnsCacheError, HostName, RefusedName, read_host


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Example.ORG", "example.org"),
        ("example.org.", "example.org"),
        ("faß.de", "xn--fa-hia.de"),
        ("Straße.DE", "xn--strae-oqa.de"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
        ("ｅｘａｍｐｌｅ．org", "example.org"),
        ("_dmarc.example.org", "_dmarc.example.org"),
        ("r3---sn-apo3qvuoxuxbt-j5pe.example.org", "r3---sn-apo3qvuoxuxbt-j5pe.example.org"),
        ("-odd-.example.org", "-odd-.example.org"),
        ("host.test", "host.test"),
        ("a.1b", "a.1b"),
        ("db", "db"),
    ],
)
def test_a_name_has_one_spelling(text, name):
    assert read_host(text) == HostName(name, is_literal=False)


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "127.0.1",
        "0x7F.0.0.1",
        "127.0.0.1.",
        "１２７.０.０.１",
    ],
)
def test_an_ipv4_address_is_recognised_in_any_spelling(text):
    assert read_host(text) == HostName("127.0.0.1", is_literal=True)


@pytest.mark.parametrize(
    ("text", "address"), [("[::1]", "::1"), ("::1", "::1"), ("[2001:DB8::0:1]", "2001:db8::1")]
)
def test_an_ipv6_address_is_recognised_with_and_without_brackets(text, address):
    assert read_host(text) == HostName(address, is_literal=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (".", "empty"),
        ("a..b", "empty label"),
        ("example.org..", "empty label"),
        (".example.org", "empty label"),
        ("a" * 64 + ".org", "label of 64"),
        ("ü" * 60 + ".org", "long"),
        (".".join(["a" * 60] * 5), "304 characters"),
        ("exa mple.org", "Codepoint"),
        ("a%00b.org", "Codepoint"),
        ("xn--a.org", "xn--a"),
        ("1.2.3.4.5", "IPv4"),
        ("256.0.0.1", "IPv4"),
        ("127.0.0.09", "IPv4"),
        ("4294967296", "IPv4"),
        ("example.1", "IPv4"),
        ("[fe80::1%eth0]", "zone"),
        ("[::1", "IPv6"),
        ("a:80", "IPv6"),
        ("x" * 1_000_000, "label of 1000000"),
    ],
)
def test_a_bad_name_is_refused_with_its_reason(text, reason):
    with pytest.raises(BadName, match=reason) as caught:
        read_host(text)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text", ["localhost", "LOCALHOST.", "a.localhost", "gone.invalid", "ｌocalhost"]
)
def test_names_that_never_belong_to_a_host_are_refused(text):
    with pytest.raises(RefusedName, match="RFC 6761"):
        read_host(text)


@given(st.text(max_size=40) | st.from_regex(r"[a-zA-Z0-9.:\[\]_\-%xü]{0,30}", fullmatch=True))
def test_any_text_is_read_once_and_for_all_or_refused(text):
    try:
        host = read_host(text)
    except DnsCacheError:
        return
    assert read_host(host.text) == host
