"""The proof judges limits, turns and unsafe states, event by event."""

from __future__ import annotations

from uuid import UUID

import pytest

from allocation.rules.proof import Proof
from allocation.rules.replay import Breach, LedgerEntry

A, B, C = 1, 2, 3


class Ledger:
    """Writes events of SEEDS A5's kind of pool, and lets the proof take them."""

    def __init__(self, **options: bool) -> None:
        self.proof = Proof(**options)

    def add(
        self,
        kind: str,
        process: int,
        *amounts: int,
        after: tuple[int, ...] | None = None,
        verdict: str = "",
        sequence=(),
    ) -> None:
        bank = self.proof.bank
        before = bank.available or (0,) * len(amounts)
        request = (
            UUID(int=process) if kind in ("granted", "waiting", "rejected", "cancelled") else None
        )
        self.proof.check_event(
            LedgerEntry(
                bank.version + 1,
                kind,
                process,
                request,
                amounts,
                before,
                after or before,
                verdict,
                tuple(sequence),
            )
        )

    def tapes(self) -> Ledger:
        """12 tapes; A holds 5 of 10, B 2 of 4, C 2 of 9: safe, in the order B A C."""
        self.add("created", 0, 12, after=(12,))
        for process, claim in ((A, 10), (B, 4), (C, 9)):
            self.add("registered", process, claim)
        self.add("granted", A, 5, after=(7,), sequence=[A])
        self.add("granted", B, 2, after=(5,), sequence=[B])
        self.add("granted", C, 2, after=(3,), sequence=[B, A, C])
        return self


def test_unsafe_cut_is_a_breach_unless_it_was_overridden():
    with pytest.raises(Breach, match="without an override"):
        Ledger().tapes().add("capacity_set", 0, 11, after=(2,))

    ledger = Ledger().tapes()
    ledger.add("overridden", 0, 0)
    ledger.add("capacity_set", 0, 11, after=(2,))
    assert not ledger.proof.is_safe


def test_override_serves_for_one_change():
    ledger = Ledger().tapes()
    ledger.add("overridden", 0, 0)
    ledger.add("capacity_set", 0, 11, after=(2,))

    with pytest.raises(Breach, match="without an override"):
        ledger.add("claim_changed", B, 5)


def test_while_unsafe_only_a_grant_that_completes_is_right():
    ledger = Ledger().tapes()
    ledger.add("overridden", 0, 0)
    ledger.add("capacity_set", 0, 11, after=(2,))
    ledger.add("waiting", A, 1, verdict="wait_unsafe")
    ledger.add("granted", B, 2, after=(0,), sequence=[B])
    ledger.add("finished", B, 4, after=(4,))
    assert not ledger.proof.is_safe

    with pytest.raises(Breach, match="cannot finish with"):
        ledger.add("granted", A, 1, after=(3,), sequence=[A])


def test_capacity_that_comes_back_makes_the_state_safe_again():
    ledger = Ledger().tapes()
    ledger.add("overridden", 0, 0)
    ledger.add("capacity_set", 0, 11, after=(2,))
    ledger.add("capacity_set", 0, 12, after=(3,))

    assert ledger.proof.is_safe


def test_class_that_is_added_widens_everything_and_nobody_claims_it():
    ledger = Ledger().tapes()
    ledger.proof.check_event(
        LedgerEntry(8, "class_added", 0, None, (12, 4), (3, 0), (3, 4), "", ())
    )
    ledger.add("claim_changed", B, 4, 1)
    ledger.add("granted", B, 0, 1, after=(3, 3), sequence=[B])

    bank = ledger.proof.bank
    assert (bank.held[A], bank.held[B], bank.capacity) == ((5, 0), (2, 1), (12, 4))


def test_wait_by_turn_is_right_only_for_one_that_holds_nothing_and_could_have_been_served():
    ledger = Ledger().tapes()
    ledger.add("registered", 4, 1)
    ledger.add("waiting", 4, 1, verdict="wait_turn")

    with pytest.raises(Breach, match="turns bind only those that hold nothing"):
        ledger.add("waiting", B, 1, verdict="wait_turn")


@pytest.mark.parametrize(
    ("sequence", "found"),
    [
        ([A, B], "process 1, which needs .*cannot finish"),
        ([9], "process 9"),
        ([], "process 2 could finish after it"),
    ],
    ids=["one that could not finish", "a stranger", "not all that could"],
)
def test_unsafe_wait_must_show_exactly_who_could_have_finished(sequence, found):
    ledger = Ledger().tapes()

    with pytest.raises(Breach, match=found):
        ledger.add("waiting", C, 1, verdict="wait_unsafe", sequence=sequence)

    Ledger().tapes().add("waiting", C, 1, verdict="wait_unsafe", sequence=[B])


def test_only_a_wait_can_be_cancelled():
    with pytest.raises(Breach, match="no such wait"):
        Ledger().tapes().add("cancelled", C, 4)


def test_naive_pool_is_held_to_what_is_available_but_not_to_safety():
    ledger = Ledger(is_banker=False).tapes()
    ledger.add("granted", A, 3, after=(0,))

    with pytest.raises(Breach, match=r"recorded wait_unsafe; the replay finds wait_unavailable"):
        ledger.add("waiting", C, 1, verdict="wait_unsafe")


def test_more_than_is_free_is_a_breach_whatever_is_recorded_after_it():
    with pytest.raises(Breach, match=r"the replay finds that only \(3,\) were free"):
        Ledger(is_banker=False).tapes().add("granted", A, 4, after=(-1,))


def test_more_than_was_claimed_is_a_breach():
    with pytest.raises(Breach, match=r"process 2 with \(5,\) of its claim \(4,\)"):
        Ledger(is_banker=False).tapes().add("granted", B, 3, after=(0,))
