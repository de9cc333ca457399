"""Which names to look up ahead, when, and with how many threads. Pure: the caller passes `now`.

The patent resolves every other URL of the queue ahead with about as many threads. A queue of a
million URLs has a thousand hosts, and answers that come too early expire unused, so here N counts
hosts that will soon be due and M follows from Little's law.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from math import ceil

from dnscache.protocol.names import DnsCacheError, levels_of, read_host
from dnscache.regions.entry import CachedAnswer
from dnscache.resolution import Resolution, literal_resolution, refused_resolution

#: hosts that fall due within this time are resolved now
LOOK_AHEAD_SECONDS = 10.0
#: how long before it is needed an answer is renewed that will have expired by then; at least twice
#: the time that a look-up takes
LEAD_SECONDS = 1.0
#: the time within which a host must be claimed for an answer that must not be kept (TTL 0); such an
#: answer is renewed a second before
GRACE_SECONDS = 5.0
#: the share of its TTL after which the answer of a popular name is renewed
POPULAR_SHARE = 0.9
#: the factor for threads beyond Little's law, because look-ups come in bursts
HEADROOM = 2.5
FEWEST_THREADS, MOST_THREADS = 4, 64
MEASURED_SECONDS = 30.0
#: the most new names under one registered name in a minute; further ones queue in the slow lane
NEW_NAMES_A_MINUTE = 120


def needs_look_up(entry: CachedAnswer | None, *, due: float, now: float) -> bool:
    """Whether a host that is due at `due` needs a look-up now. entry: the last answer."""
    if entry is None:
        return True
    if entry.retry_at is not None and now < entry.retry_at:
        return False
    if entry.fresh_until > max(due, now):
        return _is_popular_and_aging(entry, now)
    if due <= now:
        return now - entry.resolved_at >= GRACE_SECONDS - LEAD_SECONDS
    lead = due - max(LEAD_SECONDS, 2 * entry.cost_seconds)
    if now < lead:
        return entry.fresh_until <= now and now + entry.life_seconds > due
    return entry.resolved_at < lead


def _is_popular_and_aging(entry: CachedAnswer, now: float) -> bool:
    """Whether the name is popular (used more than once in its TTL) and its answer is old."""
    life = entry.life_seconds
    return (
        not entry.fails
        and now - entry.resolved_at >= POPULAR_SHARE * life
        and entry.per_second(now) * life > 1
    )


def threads_for(*, names: int, per_second: float, seconds: float, most: int = MOST_THREADS) -> int:
    """Return M for N `names` that wait: enough for `per_second` look-ups of `seconds` each, at
    least one, at most N or `most`.
    """
    wanted = max(FEWEST_THREADS, ceil(HEADROOM * per_second * seconds))
    return max(1, min(wanted, names, most, MOST_THREADS))


class LookupRate:
    """The number of look-ups begun in the last half minute, and their durations."""

    def __init__(self, now: float) -> None:
        self._since = now
        self._begun: deque[tuple[float, int]] = deque()
        self._took: deque[tuple[float, float]] = deque()

    def note_begin(self, names: int, now: float) -> None:
        self._begun.append((now, names))

    def note_end(self, seconds: float, now: float) -> None:
        self._took.append((now, seconds))

    def per_second(self, now: float) -> float:
        _forget_before(self._begun, now)
        return sum(names for _, names in self._begun) / min(
            MEASURED_SECONDS, max(1.0, now - self._since)
        )

    def seconds(self, now: float) -> float:
        """The mean duration of a look-up; a tenth of a second while it is unknown."""
        _forget_before(self._took, now)
        took = list(self._took)
        return sum(seconds for _, seconds in took) / len(took) if took else 0.1


def _forget_before(
    window: deque[tuple[float, int]] | deque[tuple[float, float]], now: float
) -> None:
    while window and window[0][0] < now - MEASURED_SECONDS:
        window.popleft()


class MadeUpNameDetector:
    """Detects made-up names by the number of new names under one registered name in a minute."""

    def __init__(self, now: float) -> None:
        self._counts: Counter[str] = Counter()
        self._since = now

    def exceeds_limit(self, name: str, now: float) -> bool:
        """Count a new name; return whether it is one too many."""
        if now - self._since >= 60:
            self._counts.clear()
            self._since = now
        first = levels_of(name).first
        self._counts[first] += 1
        return self._counts[first] > NEW_NAMES_A_MINUTE


class Agenda:
    """The names that are needed now. They are read again in each turn.

    `dues` has each name to look up, with its earliest due time.
    """

    def __init__(self) -> None:
        self.dues: dict[str, float] = {}
        self._spellings: dict[str, list[str]] = {}
        self._hosts: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def read(self, candidates: Iterable[tuple[str, float]]) -> dict[str, Resolution]:
        """Take the candidates, (host, due), as the names that are needed now. Return the
        resolutions of those that need no look-up.
        """
        self.dues, self._spellings, self._hosts = {}, {}, dict(candidates)
        found: dict[str, Resolution] = {}
        for host, due in self._hosts.items():
            try:
                read = read_host(host)
            except DnsCacheError as error:
                found[host] = refused_resolution(host, str(error))
                continue
            if read.is_literal:
                found[host] = literal_resolution(read.text)
            else:
                self.dues[read.text] = min(due, self.dues.get(read.text, due))
                self._spellings.setdefault(read.text, []).append(host)
        self._told = {host: due for host, due in self._told.items() if self._hosts.get(host) == due}
        return found

    def by_spelling(self, found: Resolution) -> dict[str, Resolution]:
        """Return a name's resolution for each due host, in each of its spellings."""
        return dict.fromkeys(self._spellings.get(found.name, []), found)

    def unreported_hosts(self, found: dict[str, Resolution]) -> dict[str, Resolution]:
        """The hosts of `found` that were not yet reported for their due time."""
        return {host: one for host, one in found.items() if host not in self._told}

    def note(self, found: dict[str, Resolution]) -> None:
        """Remember that these hosts were reported."""
        self._told.update((host, self._hosts[host]) for host in found)
