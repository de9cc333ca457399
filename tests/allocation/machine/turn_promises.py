"""The promises about turns after each step."""

from __future__ import annotations

from uuid import UUID

from tests.allocation.machine.book import Row, Seen, Wait


class TurnPromises:
    """For a state machine that has a book, and knows the first request in turn of each share."""

    def everybody_counts_who_passes(self, before: Seen, granted: list[UUID]) -> None:
        order = list(before.passed)
        for place, request in enumerate(order):
            behind = [other for other in granted if other not in order[:place]]
            if request in self.seen.passed:
                times = min(
                    before.passed[request] + len(behind),
                    max(before.passed[request], self.limit + 1),
                )
                assert self.seen.passed[request] == times, "a bypass was not counted"

    def row_of(self, wait: Wait) -> Row:
        return self.book.rows[wait.name]

    def nobody_jumps_the_queue(self, before: Seen, starts: dict[UUID, Wait]) -> None:
        """A process that holds nothing passes the first request in turn only a limited number of
        times, as long as that request is the first of its share. A start that fills a share may
        make another request the first.
        """
        for share, first in self.first.items():
            now = self.book.first_in_turn(self.seen.passed, share)
            if first is None or first != now or (self.book.shares and len(starts) > 1):
                continue
            ahead, times = list(before.passed), before.passed[first]
            jumped = [
                request
                for request, wait in starts.items()
                if request not in ahead[: ahead.index(first)] and self.row_of(wait).share == share
            ]
            assert not jumped or times + len(jumped) <= self.limit, (
                "the first was passed beyond the limit"
            )

    def nobody_waits_who_need_not(self) -> None:
        """No process waits for units that are free and safe to grant, unless the process holds
        nothing and it is the first one's turn.
        """
        self.first = {
            share: self.book.first_in_turn(self.seen.passed, share)
            for share in (None, *self.book.shares)
        }
        ahead = set()
        for request in self.seen.passed:
            wait = self.book.waits[request]
            first = self.first[self.row_of(wait).share]
            is_anothers_turn = (
                first in ahead
                and self.seen.passed[first] >= self.limit
                and not any(self.row_of(wait).held)
            )
            assert (
                is_anothers_turn
                or self.book.is_kept_back(wait.name, wait.amounts)
                or self.book.verdict(wait.name, wait.amounts) != "grant"
            ), "somebody waits for what could be granted"
            ahead.add(request)
