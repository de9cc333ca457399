"""Makes up what a pool's processes might do, whether or not the bank refuses it."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID, uuid4

from django.db import connection
from hypothesis import strategies as st

from allocation.errors import AllocationError
from allocation.models import Pool, Process, Request
from allocation.services import (
    ShareLimits,
    cancel_request,
    change_claim,
    change_share,
    ensure_share,
    finish_process,
    keep_resources,
    reap_expired,
    register_process,
    release_resources,
    request_resources,
    resume_kept,
    set_capacity,
)
from tests.allocation.conftest import KEYS

amounts = st.dictionaries(st.sampled_from(KEYS[:2]), st.integers(0, 4), max_size=2)
deeds = st.tuples(
    st.sampled_from(
        ["start"] * 6
        + ["growth"] * 6
        + ["stage"] * 2
        + ["release"] * 4
        + ["end"] * 4
        + [
            "late",
            "again",
            "reap",
            "keep",
            "keep",
            "resume",
            "resume",
            "cancel",
            "finish",
            "register",
            "register",
            "claim",
            "capacity",
            "share",
            "share",
        ]
    ),
    st.integers(0, 4),
    amounts,
)
#: the first is granted, the next two wait
OPENING = [("start", 0, {"a": 4, "b": 3}), ("start", 1, {"a": 3}), ("start", 2, {"b": 2})]
histories = st.lists(deeds, min_size=20, max_size=40).map(lambda deeds: OPENING + deeds)


class Story:
    """A pool and its processes: three at first, which together claim about twice the capacity."""

    def __init__(self, pool: Pool, *, with_shares: bool = False) -> None:
        """with_shares: two of three processes belong to a share, whose limit and reserve change."""
        self.pool = pool
        self.shares = [
            ensure_share(pool=pool.pk, ref=ref, name=ref).pk for ref in "x" if with_shares
        ]
        self.last_release: UUID = uuid4()
        self.cast: list[int] = []
        for claim in ((5, 4), (4, 3), (4, 4)):
            self.register(dict(zip(KEYS, claim, strict=False)))

    def register(self, claim: dict[str, int]) -> None:
        number = len(self.cast)
        self.cast.append(
            register_process(
                pool=self.pool.pk,
                label=f"p{number}",
                run_ref="",
                maximum=claim,
                share=(self.shares * 2 + [None])[number % 3 if self.shares else 0],
            ).pk
        )

    def end(self) -> None:
        """Let the processes that hold units ask for the rest of their claims, and finish, until
        none holds or waits.
        """
        while holders := Process.objects.filter(pool=self.pool, holding=True, is_waiting=False):
            for process in holders.order_by("pk"):
                process.refresh_from_db()
                if process.kept_until is not None:
                    self.steer("reap", process, {})
                elif any(need := self.need_of(process)):
                    wanted = dict(zip(KEYS, need, strict=False))
                    self.do("growth", process, wanted)
                else:
                    finish_process(process=process.pk)

    def need_of(self, process: Process) -> list[int]:
        return [
            most - held for most, held in zip(process.max_claim, process.allocated, strict=True)
        ]

    def tell(self, deeds: list[tuple[str, int, dict[str, int]]]) -> None:
        for deed, who, what in deeds:
            with suppress(AllocationError):
                if deed == "register":
                    self.register(what)
                else:
                    self.do(deed, Process.objects.get(pk=self.cast[who % len(self.cast)]), what)

    def do(self, deed: str, process: Process, what: dict[str, int]) -> None:
        pk, epoch = process.pk, process.epoch
        match deed:
            case "start":
                request_resources(process=pk, amounts=what, request_id=uuid4())
            case "growth" | "stage":
                request_resources(
                    process=pk, amounts=what, request_id=uuid4(), kind=deed, epoch=epoch
                )
            case "release" | "end":
                self.last_release = uuid4()
                release_resources(
                    process=pk,
                    epoch=epoch,
                    release_id=self.last_release,
                    amounts=what if deed == "release" else None,
                )
            case "late":
                release_resources(process=pk, epoch=epoch - 1, release_id=uuid4(), amounts=None)
            case "again":
                release_resources(
                    process=pk, epoch=epoch, release_id=self.last_release, amounts=None
                )
            case _:
                self.steer(deed, process, what)

    def steer(self, deed: str, process: Process, what: dict[str, int]) -> None:
        pk, epoch = process.pk, process.epoch
        match deed:
            case "reap":
                Process.objects.filter(pk=pk, lease_until__isnull=False).update(
                    lease_until="2001-01-01T00:00Z"
                )
                Process.objects.filter(pk=pk, kept_until__isnull=False).update(
                    kept_until="2001-01-01T00:00Z"
                )
                reap_expired()
            case "keep":
                keep_resources(process=pk, epoch=epoch, keep_seconds=60)
            case "resume":
                resume_kept(process=pk)
            case "cancel":
                for request in Request.objects.filter(process=pk, state="waiting"):
                    cancel_request(request_id=request.pk)
            case "finish":
                finish_process(process=pk)
            case "share" if self.shares:
                some = {key: n for key, n in what.items() if n % 2}
                change_share(
                    share=self.shares[0],
                    limits=ShareLimits(some, {key: units + 4 for key, units in what.items()}),
                )
            case "claim":
                change_claim(process=pk, maximum=what)
            case "capacity":
                set_capacity(
                    pool=self.pool.pk, capacity={key: units + 2 for key, units in what.items()}
                )


def rewrite(sql: str, *values: object) -> None:
    """Change the ledger in a way that its trigger forbids."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE allocation_event DISABLE TRIGGER allocation_event_is_final")
        cursor.execute(sql, values)
        cursor.execute("ALTER TABLE allocation_event ENABLE TRIGGER allocation_event_is_final")
