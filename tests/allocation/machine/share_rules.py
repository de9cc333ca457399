"""The actions of an administrator on shares of a pool, and the promises of their limits and
reserves.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.allocation.machine.book import NO_LIMIT, ShareRow, Vector, Wait, fits, less, more

MOST_SHARES = 2


def some_limits(most: Vector) -> st.SearchStrategy[Vector]:
    return st.tuples(*[st.just(NO_LIMIT) | st.integers(0, units) for units in most])


class ShareRules:
    """Rules for a state machine whose processes may belong to a share."""

    def open_shares(self, data: st.DataObject) -> None:
        """Make shares; some banks get none, so that the rest is tested no less."""
        for _ in range(data.draw(st.sampled_from([MOST_SHARES, 1, 0]))):
            nothing = (0,) * len(self.book.capacity)
            self.book.shares[self.bank.open_share()] = ShareRow(nothing, (NO_LIMIT,) * len(nothing))

    def draw_share(self, data: st.DataObject) -> int | None:
        return data.draw(st.sampled_from([*self.book.shares] * 2 + [None]))

    def change_share(self, data: st.DataObject) -> None:
        """Draw a reserve and a limit; a limit below a claim, for example, must be refused."""
        if not self.book.shares:
            return self.change_limits(data)
        share = data.draw(st.sampled_from([*self.book.shares]))
        old = self.book.shares[share]
        new = ShareRow(
            data.draw(st.tuples(*[st.integers(0, units // 2) for units in self.book.capacity])),
            data.draw(some_limits(self.book.capacity)),
        )
        reserves = new.reserved
        for other, row in self.book.shares.items():
            reserves = reserves if other == share else more(reserves, row.reserved)
        refused = (
            not fits(new.reserved, new.limits)
            or (new.reserved != old.reserved and not fits(reserves, self.book.capacity))
            or any(
                not fits(row.maximum, new.limits)
                for row in self.book.rows.values()
                if row.share == share and not row.finished
            )
        )
        self.does(lambda: self.bank.change_share(share, *new), unless=refused)
        self.book.shares[share] = old if refused else new
        return None

    def claim_exceeds_share(self, name: int, claim: Vector) -> bool:
        """Whether a changed claim exceeds the limit, for a process that holds units beside those of
        others.
        """
        row = self.book.rows[name]
        if row.share is None or fits(claim, row.maximum):
            return False
        others = (0,) * len(claim)
        if any(row.held):
            others = less(self.book.claimed(row.share), row.maximum)
        return not fits(more(others, claim), self.book.shares[row.share].limits)

    def starts_keep_to_shares(self, starts: list[Wait], *, is_alone: bool) -> None:
        """Judge the starts of a step by the book, which already has them.

        Other processes may have taken units after a start, so only a start that was granted alone
        is judged by the units that it left.
        """
        for wait in starts:
            share = self.book.rows[wait.name].share
            if share is not None:
                assert fits(self.book.claimed(share), self.book.shares[share].limits), (
                    "a start went beyond the limit of its share"
                )
            assert not is_alone or fits(
                self.book.set_aside(share, wait.amounts), self.book.available
            ), "a start took what another share has set aside"
