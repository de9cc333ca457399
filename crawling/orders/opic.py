"""Credit that flows along links (SEEDS W15, OPIC): pages that many pages lead to collect it, and
traps, which share theirs out among ever more of their own, run dry.

All credit is the seeds'. It is never made and never lost: what a page spends goes to its links and
to the Lambda page.
"""

from __future__ import annotations

from dataclasses import dataclass

START_CREDIT = 100.0
TAX = 0.1


@dataclass
class LambdaPage:
    """The page that is nowhere and leads everywhere."""

    credit: float = 0.0
    #: what it has given so far to a page that has waited from the start. A page's credit is the
    #: level less its rank, so to give every waiting page the same is to raise one number, and no
    #: row has to be written
    level: float = 0.0

    def spread(self, pages: int) -> None:
        """Be crawled: share all out among the pages that wait, which are so many."""
        self.level += self.credit / pages
        self.credit = 0.0

    def spend(self, credit: float, links: int) -> float:
        """Take what a crawled page pays, and return what each of its links gets.

        A page without links leaves all to Lambda.
        """
        if not links:
            self.credit += credit
            return 0.0
        self.credit += TAX * credit
        return (1 - TAX) * credit / links
