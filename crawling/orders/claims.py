"""The units of each resource class that a crawl claims, and those that a shift needs to begin."""

from __future__ import annotations

from collections.abc import Mapping

from crawling.orders.fields import MIB
from crawling.orders.sections.rendering import RenderingPart

#: the size at which a document is cut off; it is in memory up to 64 KiB, and in a file beyond that
MOST_DOCUMENT_BYTES = 64 * MIB

#: the classes of open browser pages and of their memory, which only orders that render pages claim
BROWSER_PAGES, BROWSER_MEMORY = "browsers", "browser_memory"
OF_BROWSERS = frozenset({BROWSER_PAGES, BROWSER_MEMORY})
#: the open pages of such a crawl; as many as a worker's browser has by default
USUAL_PAGES = 4
ARCHIVE_WRITERS = "archive_writers"
#: the claim (Max) of a crawl unless its order has another, if the pool has as much for each of its
#: workers. If the pool has more, the claim has more fetch slots
USUAL_CLAIM = {
    "worker": 1,
    "fetch_slots": 8,
    "bandwidth": 25_600,
    "memory": 64,
    "dns_slots": 8,
    "archive_writers": 1,
}
#: The part of a worker's fetch slots that a crawl claims. A shift requests a slot for each host
#: that waits for one, so a crawl of few hosts leaves the others free. The rest is for test fetches
#: and checks of links. The second number is the most threads that a work process can make use of.
FETCH_PART, MOST_FETCH_SLOTS = 7 / 8, 64
#: the classes of which a shift begins with one unit and grows. From the start it needs the memory
#: shares of its fetch threads, and the whole claim of all other classes except STAGED.
GROWING = frozenset({"fetch_slots", "dns_slots"})
#: classes that a shift requests once a document needs them, like memory beyond the shares
STAGED = frozenset({ARCHIVE_WRITERS}) | OF_BROWSERS
#: classes whose claim may change while a run works
EDITABLE = GROWING | OF_BROWSERS
#: a shift needs at least one unit of each of these classes
NEEDED = frozenset({"worker", "fetch_slots", "bandwidth", "memory", "dns_slots"})
#: the choices of an operator in place of numbers: units by class; None means half of the pool
PRESETS: dict[str, dict[str, int | None]] = {
    "gentle": {
        "worker": 1,
        "fetch_slots": 2,
        "bandwidth": 2_048,
        "memory": 40,
        "dns_slots": 2,
        "archive_writers": 1,
    },
    "normal": {**USUAL_CLAIM},
    "fast": {
        "worker": 1,
        "fetch_slots": None,
        "bandwidth": None,
        "memory": None,
        "dns_slots": None,
        "archive_writers": 1,
    },
}


def preset_claims(capacity: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return Max for every class of the pool, by preset.

    No preset claims more than the capacity. As many gentle and normal crawls can work at the same
    time as there are workers. Two fast crawls can, since each claims at most half of the pool, but
    never less than a normal crawl. A fast crawl leaves space for two normal ones.
    """
    usual = usual_claim(capacity)
    return {
        name: {
            key: _large_claim(key, usual[key], capacity[key])
            if (units := preset.get(key, 0)) is None
            else min(usual[key], units)
            for key in capacity
        }
        for name, preset in PRESETS.items()
    }


def _large_claim(key: str, usual: int, capacity: int) -> int:
    """Half of the pool. Of a class that is granted as a whole, a little less if two usual claims
    would otherwise not fit beside it.
    """
    left = capacity if key in GROWING else capacity - 2 * usual
    return max(usual, min(capacity // 2, left))


def usual_claim(capacity: Mapping[str, int]) -> dict[str, int]:
    """The usual claim of a crawl on a pool: at most a worker's part, so that every worker can have
    a crawl.
    """
    workers = max(1, capacity.get("worker", 1))
    claim = {
        key: min(USUAL_CLAIM.get(key, 0), units, max(1, units // workers))
        for key, units in capacity.items()
    }
    if "fetch_slots" in claim:
        part = int(capacity["fetch_slots"] / workers * FETCH_PART)
        claim["fetch_slots"] = max(claim["fetch_slots"], min(part, MOST_FETCH_SLOTS))
    return claim


def complete_claim(
    wanted: Mapping[str, int],
    capacity: Mapping[str, int],
    limits: Mapping[str, int] | None = None,
) -> tuple[dict[str, int], dict[str, str]]:
    """Return Max for every class of the pool, and a sentence for each invalid entry.

    capacity: the pool's, by class. limits: those of the crawl's team. Classes that `wanted` leaves
    out get their usual claim.
    """
    limits = limits or {}
    errors = {key: _mistake_in_claim(key, units, capacity, limits) for key, units in wanted.items()}
    usual = {
        key: min(units, limits.get(key, units)) for key, units in usual_claim(capacity).items()
    }
    return {**usual, **wanted}, {
        f"claim.{key}": message for key, message in errors.items() if message
    }


def claim_with_browsers(
    claim: Mapping[str, int],
    part: RenderingPart,
    capacity: Mapping[str, int],
    limits: Mapping[str, int] | None = None,
) -> tuple[dict[str, int], dict[str, str]]:
    """The claim with that of browsers, and a sentence for each mistake. An order that renders no
    page gets no browser. An order that renders pages and claims no browser gets the usual claim.

    capacity, limits: as in `complete_claim`.
    """
    known = OF_BROWSERS & capacity.keys()
    if not part.may_render:
        return {**claim, **dict.fromkeys(known, 0)}, {}
    if not all(capacity.get(key) for key in OF_BROWSERS):
        return dict(claim), {"render" if part.render != "never" else "render_rules": NO_BROWSER}
    usual = _usual_browsers(part, capacity, limits or {})
    full = {**claim, **{key: claim.get(key) or usual[key] for key in known}}
    if full[BROWSER_PAGES] < 1 or full[BROWSER_MEMORY] < part.render_memory_mib:
        most = min(capacity[BROWSER_MEMORY], (limits or {}).get(BROWSER_MEMORY, 2**31))
        return full, {
            f"claim.{BROWSER_MEMORY}": f"must be {part.render_memory_mib} or more, the memory of a "
            f"rendered page (render_memory_mib); at most {most} can be claimed"
        }
    return full, {}


#: why an order that renders pages is refused
NO_BROWSER = (
    "needs a worker with a browser, and there is none: run `make browser` where workers run, and "
    "restart them; or let no page be rendered"
)


def _usual_browsers(
    part: RenderingPart, capacity: Mapping[str, int], limits: Mapping[str, int]
) -> dict[str, int]:
    """The pages that a worker's browser has memory for, and this memory."""
    units = {key: min(capacity[key], limits.get(key, capacity[key])) for key in OF_BROWSERS}
    browsers = max(1, capacity[BROWSER_PAGES] // USUAL_PAGES)
    memory = min(units[BROWSER_MEMORY], capacity[BROWSER_MEMORY] // browsers)
    pages = min(units[BROWSER_PAGES], USUAL_PAGES, max(1, memory // part.render_memory_mib))
    return {BROWSER_PAGES: pages, BROWSER_MEMORY: min(memory, pages * part.render_memory_mib)}


def _mistake_in_claim(
    key: str, units: int, capacity: Mapping[str, int], limits: Mapping[str, int]
) -> str:
    if key not in capacity:
        return f"the pool has no such resource class; it has {', '.join(capacity)}"
    if units > capacity[key]:
        return (
            f"{units} is more than the pool has ({capacity[key]}); claim less or ask an "
            "administrator for more capacity"
        )
    if units > limits.get(key, units):
        return (
            f"{units} is more than the limit of its team ({limits[key]}); claim less or ask an "
            "administrator to raise the limit"
        )
    if key == "worker" and units != 1:
        return "must be 1: a work session has one worker"
    if key in NEEDED and units < 1:
        return "must be 1 or more: no work session runs without it"
    return ""


def start_amounts(claim: Mapping[str, int]) -> dict[str, int]:
    """The start request of a shift with this claim, which is granted completely or not at all."""
    return {
        key: _units_at_start(key, claim)
        for key, units in claim.items()
        if units and key not in STAGED
    }


def _units_at_start(key: str, claim: Mapping[str, int]) -> int:
    if key == "memory":
        return min(claim[key], max(1, claim.get("fetch_slots", 1)))
    return min(1, claim[key]) if key in GROWING else claim[key]


def memory_share_mib(claim: Mapping[str, int]) -> int:
    """The bytes that each fetch thread may have in hand without a request: 1 MiB, or an equal part
    of a smaller claim.
    """
    return min(MIB, claim["memory"] * MIB // max(1, claim["fetch_slots"]))
