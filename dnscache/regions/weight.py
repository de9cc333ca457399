"""What keeping an answer is worth (SEEDS D10 leaves the formula open).

    W = C · λ · λL / (1 + λL)

with C the seconds that a look-up takes, L the seconds that an answer lives and λ the rate at which
the name is asked for. The last factor is the hit ratio of an answer that is renewed on demand when
demand comes at random, so W is the seconds of fetch threads saved per second by keeping the answer;
the sum of W says how many threads the cache is worth. W rises with each of the patent's three
inputs and is 0 for an answer that does not live.
"""

from __future__ import annotations

from math import log

#: after so long without a hit, half of a name's past counts no more
HALF_LIFE_SECONDS = 600.0
_RATE_PER_HIT = log(2) / HALF_LIFE_SECONDS


def hits_after(hits: float, idle_seconds: float) -> float:
    """Return the decayed count of hits with one more, that comes `idle_seconds` after the last."""
    # clocks are set back, too
    return 1.0 + (hits * 2.0 ** (-idle_seconds / HALF_LIFE_SECONDS) if idle_seconds > 0 else hits)


def rate(hits: float, idle_seconds: float) -> float:
    """Return λ, hits a second, of a name with that decayed count when it was last asked for."""
    return _RATE_PER_HIT * hits * float(2.0 ** (-max(0.0, idle_seconds) / HALF_LIFE_SECONDS))


def weight(*, cost_seconds: float, life_seconds: float, per_second: float) -> float:
    """Return W, threads saved; no argument may be negative."""
    demand = per_second * life_seconds
    return cost_seconds * per_second * demand / (1.0 + demand)
