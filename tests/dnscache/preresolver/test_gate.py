import time

import pytest

from dnscache import store
from dnscache.preresolver.gate import settled_answers
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply

OK, GONE, BROKEN = (
    Reply(DnsStatus.OK, ("192.0.2.1",), ttl=60),
    Reply(DnsStatus.NXDOMAIN, ttl=60),
    Reply(DnsStatus.SERVFAIL),
)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reply", "age", "expires_in", "retry_in", "fails", "passes"),
    [
        (OK, 10, 50, None, 0, True),
        (OK, 70, -10, None, 0, False),
        (OK, 1, -1, None, 0, True),
        (OK, 70, -10, 20, 1, True),
        (OK, 70, -10, -1, 1, False),
        (OK, 90000, -86410, 20, 1, False),
        (GONE, 10, 50, None, 0, True),
        (GONE, 70, -10, None, 0, False),
        (BROKEN, 1, -1, 4, 1, False),
        (BROKEN, 1, -1, 300, 5, True),
        (BROKEN, 400, -400, -100, 5, False),
    ],
    ids=[
        "fresh",
        "expired",
        "ttl-0",
        "stale",
        "stale-retry",
        "too-old",
        "gone",
        "gone-expired",
        "rests",
        "given-up",
        "tries-again",
    ],
)
def test_a_host_passes_when_its_name_is_settled(reply, age, expires_in, retry_in, fails, passes):
    now = time.time()
    retry_at = None if retry_in is None else now + retry_in
    store.write_answers([DnsAnswer("a.test", reply, now - age, now + expires_in, retry_at, fails)])

    found = settled_answers(["a.test", "unknown.test"])

    assert found.keys() == ({"a.test"} if passes else set())
    assert not passes or found["a.test"].stale == (fails == 1 and reply is OK)
