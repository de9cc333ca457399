from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.vetting import BAD_PORTS, AllowedRange, vet
from dnscache.protocol.addresses import AddressClass, classify, plain_address

EVERYTHING = [
    AllowedRange(ip_network("0.0.0.0/0"), 1, 65535),
    AllowedRange(ip_network("::/0"), 1, 65535),
]
NOBODY = frozenset()
DEMO = [AllowedRange(ip_network("127.0.0.1/32"), 8010, 8010)]


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:4700:4700::1111"])
def test_public_addresses_pass(address):
    assert vet([address], 80, allowed=[], forbidden=NOBODY).permitted == (address,)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("10.0.0.1", "private"),
        ("169.254.169.254", "link-local"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "127.0.0.1 is a loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("192.0.2.1", "reserved"),
        ("224.0.0.1", "multicast"),
        ("0.0.0.0", "unspecified"),
    ],
)
def test_other_addresses_are_refused_with_a_sentence(address, why):
    vetted = vet([address], 80, allowed=[], forbidden=NOBODY)

    assert vetted.permitted == ()
    assert why in vetted.reason


@pytest.mark.parametrize(
    ("address", "port", "passes"),
    [
        ("127.0.0.1", 8010, True),
        ("::ffff:127.0.0.1", 8010, True),
        ("127.0.0.1", 8011, False),
        ("127.0.0.1", 8009, False),
        ("127.0.0.2", 8010, False),
        ("::1", 8010, False),
    ],
)
def test_the_demo_adds_its_own_address_and_port_and_nothing_else(address, port, passes):
    assert bool(vet([address], port, allowed=DEMO, forbidden=NOBODY).permitted) is passes


def test_both_ends_of_a_port_range_belong_to_it():
    allowed = [AllowedRange(ip_network("10.0.0.0/8"), 8000, 8002)]

    passing = [
        port
        for port in range(7998, 8005)
        if vet(["10.9.9.9"], port, allowed=allowed, forbidden=NOBODY).permitted
    ]

    assert passing == [8000, 8001, 8002]


def test_of_a_mixed_answer_the_bad_addresses_are_dropped():
    mixed = [
        "127.0.0.1",
        "93.184.216.34",
        "10.0.0.1",
        "2606:4700:4700::1111",
        "::ffff:93.184.216.34",
    ]

    assert vet(mixed, 80, allowed=[], forbidden=NOBODY).permitted == (
        "93.184.216.34",
        "2606:4700:4700::1111",
    )


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "0.0.0.0", "::", "224.0.0.1", "ff02::1"],
)
def test_our_own_services_and_what_is_no_host_can_never_be_allowed(address):
    vetted = vet([address], 5432, allowed=EVERYTHING, forbidden=frozenset({("127.0.0.1", 5432)}))

    assert vetted.permitted == ()
    assert vetted.reason


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "10.0.0.5", "fd00::1"])
def test_a_service_on_every_address_closes_its_port_on_all_that_are_not_public(everywhere, address):
    forbidden = frozenset({(everywhere, 8000)})

    assert not vet([address], 8000, allowed=EVERYTHING, forbidden=forbidden).permitted
    assert vet([address], 8001, allowed=EVERYTHING, forbidden=forbidden).permitted
    assert vet(["93.184.216.34"], 8000, allowed=[], forbidden=forbidden).permitted


def test_our_own_service_at_a_public_address_is_closed_too():
    forbidden = frozenset({("93.184.216.34", 5432)})

    assert (
        "service of this site"
        in vet(["93.184.216.34"], 5432, allowed=EVERYTHING, forbidden=forbidden).reason
    )


def test_no_address_at_all_has_a_reason_too():
    assert vet([], 80, allowed=EVERYTHING, forbidden=NOBODY).reason


@given(
    st.lists(st.ip_addresses().map(str), max_size=8),
    st.integers(1, 65535).filter(lambda port: port not in BAD_PORTS),
)
def test_without_permissions_the_public_addresses_pass_and_no_others(addresses, port):
    permitted = vet(addresses, port, allowed=[], forbidden=NOBODY).permitted

    assert set(permitted) == {
        plain_address(address) for address in addresses if classify(address) is AddressClass.PUBLIC
    }


@pytest.mark.parametrize(
    ("port", "is_permitted"),
    [(25, False), (6379, False), (10080, False), (80, True), (21, True), (8443, True)],
)
def test_other_services_ports_are_refused_at_public_addresses_unless_allowed(port, is_permitted):
    here = AllowedRange(ip_network("93.184.215.14/32"), 25, 25)

    assert (
        bool(vet(["93.184.215.14"], port, allowed=[], forbidden=frozenset()).permitted)
        == is_permitted
    )
    assert vet(["93.184.215.14"], 25, allowed=[here], forbidden=frozenset()).permitted
