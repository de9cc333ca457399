import pytest

from dnscache.protocol.addresses import AddressClass, classify, plain_address

CLASSES = {
    "public": "8.8.8.8 93.184.216.34 192.31.196.1 1.1.1.1 2606:4700:4700::1111 2a00:1450::1 "
    "::ffff:8.8.8.8 64:ff9b::808:808",
    "loopback": "127.0.0.1 127.255.0.9 ::1 ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 "
    "2002:7f00:1:: 2002:7f00:0001::1",
    "private": "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255 "
    "fc00::1 fd12:3456::1 "
    "::ffff:10.0.0.1 64:ff9b::a00:1 64:ff9b:1::1 2002:c0a8:101::1 0.1.2.3 "
    "168.63.129.16 ::ffff:168.63.129.16 64:ff9b::a83f:8110 100.100.100.200 161.26.0.10 "
    "166.9.1.1 fd00:ec2::254 fd20:ce::254",
    "link_local": "169.254.169.254 169.254.170.2 fe80::1 fe80::a9fe:a9fe ::ffff:169.254.169.254",
    "unspecified": "0.0.0.0 :: ::ffff:0.0.0.0",
    "multicast": "224.0.0.1 239.255.255.255 ff02::1 ff0e::1",
    "reserved": "192.88.99.1 192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 240.0.0.1 "
    "255.255.255.255 192.0.0.8 "
    "192.0.0.192 "
    "fec0::1 3fff::1 5f00::1 100::1 2001:db8::1 2001:2::1 2001:10::1 2001:20::1 ::8.8.8.8 "
    "2002:808:808::1",
}


@pytest.mark.parametrize(
    ("address", "kind"), [(a, kind) for kind, text in CLASSES.items() for a in text.split()]
)
def test_every_address_has_its_class(address, kind):
    assert classify(address) is AddressClass(kind)


def test_teredo_is_judged_by_both_addresses_that_it_carries():
    # server 65.54.227.120 and client 192.0.2.45 (RFC 4380), then with client 127.0.0.1 (stored
    # inverted)
    assert classify("2001:0:4136:e378:8000:63bf:3fff:fdd2") is AddressClass.RESERVED
    assert classify("2001:0:4136:e378:8000:63bf:80ff:fffe") is AddressClass.LOOPBACK


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_an_address_is_dialled_in_one_spelling(address, reached):
    assert plain_address(address) == reached


@pytest.mark.parametrize("address", ["fe80::1%eth0", "127.1", "example.org", ""])
def test_what_is_no_plain_address_is_not_dialled(address):
    with pytest.raises(ValueError, match=r"interface|does not appear"):
        plain_address(address)
