"""The inference from a sample to the whole, with its certainty."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt

#: the number of standard deviations to either side that cover 95 of 100 samples
SURE = 1.96


@dataclass(frozen=True)
class SampleShare:
    #: the number of items in the sample with the property
    hits: int
    #: the size of the sample, drawn without regard to the property; it may be the whole
    looked_at: int
    total: int

    @property
    def is_estimate(self) -> bool:
        return self.looked_at < self.total

    @property
    def about(self) -> int:
        return round(self.hits * self.total / self.looked_at) if self.looked_at else 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The bounds of the number in the whole, which hold for 19 samples in 20 (E. B. Wilson,
        1927), even without a hit.
        """
        if not self.is_estimate or not self.looked_at:
            return self.about, self.about
        n, p, z = self.looked_at, self.hits / self.looked_at, SURE**2
        middle, half = p + z / (2 * n), SURE * sqrt(p * (1 - p) / n + z / (4 * n * n))
        least, most = ((middle + side * half) / (1 + z / n) for side in (-1, 1))
        # hits in the sample are certain, and so are its other items
        return max(self.hits, floor(least * self.total)), min(
            self.total - (n - self.hits), ceil(most * self.total)
        )
