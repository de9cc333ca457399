"""What a shift holds, and its asking for more. The only part of a shift that talks to the bank."""

from __future__ import annotations

from uuid import UUID, uuid4

from allocation.models import Request, RequestKind, RequestState
from allocation.selectors import holdings_of, outcome_of
from allocation.services import release_resources, request_resources
from crawling.models import Shift
from crawling.rules.claims import GROWING


class Buyer:
    """`held` is what the bank says this shift holds, by resource class; growth that is granted later is noticed on `look`."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self._claim: dict[str, int] = shift.process.run.crawl.claim
        assert shift.process.bank_process_id is not None
        self._process = shift.process.bank_process_id
        self._waiting: UUID | None = None
        self.held = self._read()

    def _read(self) -> dict[str, int]:
        held = {holding.key: holding.units for holding in holdings_of([self._process]).get(self._process, ())}
        return {**dict.fromkeys(self._claim, 0), **held}

    def grow(self, wanted: int) -> None:
        """Ask for up to `wanted` more of what lets more toes work, within the claim. Never blocks: a refusal waits in the bank."""
        if self._waiting or wanted <= 0:
            return
        amounts = {key: min(wanted, self._claim.get(key, 0) - self.held.get(key, 0)) for key in GROWING}
        amounts = {key: units for key, units in amounts.items() if units > 0}
        if not amounts.get("fetch_slots"):
            return
        request_id = uuid4()
        outcome = request_resources(
            process=self._process, amounts=amounts, request_id=request_id, kind=RequestKind.GROWTH, epoch=self._shift.epoch
        )
        if outcome.granted:
            self.held = self._read()
        else:
            self._waiting = request_id

    def look(self) -> None:
        """Notice growth that was granted, or ended otherwise, since it was asked for."""
        if self._waiting:
            outcome = outcome_of(self._waiting)
            if outcome is None or outcome.state != RequestState.WAITING:
                self._waiting = None
                self.held = self._read()

    def others_wait(self) -> bool:
        """Whether some other process waits for units in this pool."""
        waiting = Request.objects.filter(pool__processes=self._process, state=RequestState.WAITING)
        return bool(waiting.exclude(process=self._process).exists())

    def give_back_all(self, reason: str) -> None:
        """End the shift in the bank: everything goes back and what still waits is withdrawn."""
        release_resources(process=self._process, epoch=self._shift.epoch, release_id=uuid4(), amounts=None, reason=reason)
