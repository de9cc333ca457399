"""Sites that never end."""

from __future__ import annotations

from hashlib import sha256

from crawling.models import TrapPattern, UrlState
from crawling.orders.scope.trap_patterns import PROBE_PAGES, SUSPICIOUS_PROBE_PAGES
from tests.webs.case import Case, answer, links

PAGES = ("start", "news", "contact", "help")


def counts(talk):
    """Every page has its number and links to the next five."""
    number = int(talk.path.rpartition("/")[2] or 0)
    ahead = links(*(f"/count/{number + step}" for step in range(1, 6)))
    return answer(f"<p>Page {number}</p>{ahead}")


def lists_days(talk):
    day = int(talk.path.rpartition("=")[2].strip("/") or 0)
    text = f"<p>On day {day} nothing is planned, here or anywhere else, so come again.</p>"
    return answer(text + links(*(f"/plan?day={day + step}" for step in range(1, 6))))


def makes_sessions(talk):
    """Every page exists, under a session's id that each answer makes anew for all its links."""
    made = int.from_bytes(sha256(talk.path.encode()).digest(), "big")
    letters = "".join("0123456789abcdefghijklmnopqrstuvwxyz"[made >> 6 * n & 31] for n in range(24))
    name = talk.path.rpartition("/")[2] or PAGES[0]
    text = f"<h1>{name}</h1><p>What this shop has to say of {name}, it says on every visit.</p>"
    return answer(text + links(*(f"/{letters}/{page}" for page in PAGES)))


def repeats(talk):
    return answer(talk.path + links(talk.path.rstrip("/") + "/again/"))


def names_hosts(talk):
    """Every name resolves, and every host's page links to five more names."""
    host, _, port = talk.asked.headers["host"].partition(":")
    number = int(host.partition(".")[0].strip("w") or 0)
    ahead = (f"http://{number + step}.many.test:{port}/" for step in range(1, 6))
    return answer(f"<p>Host {number}</p>" + links(*ahead))


def is_held(rule):
    """The run holds back URLs of the case's host, by a pattern of this rule."""

    def judge(seen):
        patterns = TrapPattern.objects.filter(run=seen.run, pattern__startswith=seen.server.origin)
        held = seen.run.urls.filter(url__startswith=seen.server.origin, state=UrlState.QUARANTINED)
        rules = set(patterns.exclude(state="watched").values_list("rule", flat=True))
        return [] if rules == {rule} and held.exists() else [f"held for {rules}, not for {rule}"]

    return judge


CASES: list[Case] = [
    Case(
        "pages of a number and nothing else, without end",
        counts,
        most_requests=4 * PROBE_PAGES,
        judge=is_held("yield"),
        small=True,
    ),
    Case(
        "a calendar without end",
        lists_days,
        most_requests=4 * PROBE_PAGES,
        judge=is_held("yield"),
        small=True,
    ),
    Case(
        "a session's id in the path, new in every answer",
        makes_sessions,
        most_requests=8 * PROBE_PAGES,
        judge=is_held("yield"),
        small=True,
    ),
    Case(
        "names without end in one domain",
        names_hosts,
        hosts=("*.many.test",),
        order={"scope": "domain", "domain_max_hosts": 20},
        tries=20,
        most_requests=20,
        small=True,
    ),
    Case(
        "a directory below itself, without end",
        repeats,
        most_requests=4 * SUSPICIOUS_PROBE_PAGES,
        judge=is_held("repeats"),
        small=True,
    ),
]
