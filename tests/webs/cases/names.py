"""Names that are hard to resolve: `tests/dns_scenarios.py` says what the name server does."""

from __future__ import annotations

from tests.webs.case import Case, answer


def named(says, label, *, small=True):
    hosts = (f"{label}.web.test",)
    return Case(f"a name server that {says}", {"/": answer("here")}, hosts=hosts, small=small)


CASES: list[Case] = [
    named("is drowned out by 1,000 forged answers", "flood-1000"),
    named("is drowned out by forged answers, but over TCP", "drown-100"),
    named("is forestalled by a forged answer in other letters", "spelt"),
    # not beside the other cases, which use the same name server: a server that always answers so is
    # trusted
    named("answers in small letters", "fold", small=False),
    named("does not know EDNS", "noedns"),
    named("loses the first packet of each type", "drop1"),
]
