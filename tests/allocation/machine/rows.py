"""The bank itself: PostgreSQL, through its services. Only clocks are set by hand."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from allocation import services
from allocation.fields import ClockTimestamp
from allocation.models import Conservation, Pool, Process, ProcessState, Request, RequestState
from allocation.values import Override, ShareLimits
from tests.allocation.conftest import KEYS, units
from tests.allocation.machine.book import NO_LIMIT, Row, Seen, Vector

AT_ALL_COSTS = Override(by="the machine", reason="to see what comes of it")
A_MOMENT_AGO = ClockTimestamp() - timedelta(seconds=1)


class RowBank:
    """The operations of `PaperBank`, carried out by the product's services."""

    def __init__(self, capacity: Vector, bypass_limit: int) -> None:
        classes = [
            services.NewClass(key, "unit", "A unit.", most)
            for key, most in zip(KEYS, capacity, strict=False)
        ]
        self.pool = services.create_pool(name="machine", classes=classes).pk
        Pool.objects.filter(pk=self.pool).update(bypass_limit=bypass_limit)
        self.shares = 0

    def look(self) -> Seen:
        pool = Pool.objects.get(pk=self.pool)
        rows = {
            process.pk: _row(process)
            for process in Process.objects.filter(pool=pool).order_by("pk")
        }
        found = (
            Request.objects.filter(pool=pool)
            .order_by("turn", "seq")
            .values_list("pk", "state", "bypassed")
        )
        passed = {
            request: times for request, state, times in found if state == RequestState.WAITING
        }
        requests = {request: state for request, state, _ in found}
        return Seen(
            tuple(pool.capacity), tuple(pool.available), pool.is_safe, rows, requests, passed
        )

    def open_share(self) -> int:
        self.shares += 1
        name = f"share {self.shares}"
        return services.ensure_share(pool=self.pool, ref=name, name=name).pk

    def change_share(self, share: int, reserved: Vector, limits: Vector) -> None:
        bounds = (None if units == NO_LIMIT else units for units in limits)
        terms = ShareLimits(units(*reserved), dict(zip(KEYS, bounds, strict=False)))
        services.change_share(share=share, limits=terms)

    def register(self, claim: Vector, share: int | None) -> int:
        return services.register_process(
            pool=self.pool, label="p", run_ref="", maximum=units(*claim), share=share
        ).pk

    def ask(self, name: int, amounts: Vector, kind: str, request: UUID, epoch: int) -> None:
        shift = None if kind == "start" else epoch
        services.request_resources(
            process=name, amounts=units(*amounts), request_id=request, kind=kind, epoch=shift
        )

    def cancel(self, request: UUID) -> None:
        services.cancel_request(request_id=request)

    def release(self, name: int, epoch: int, amounts: Vector | None, release: UUID) -> str:
        given = None if amounts is None else units(*amounts)
        return services.release_resources(
            process=name, epoch=epoch, release_id=release, amounts=given
        ).status.value

    def finish(self, name: int) -> None:
        services.finish_process(process=name)

    def take(self, name: int, epoch: int) -> bool:
        return services.take_lease(process=name, epoch=epoch, worker="somebody")

    def renew(self, name: int, epoch: int) -> bool:
        return services.renew_lease(process=name, epoch=epoch)

    def lose(self, name: int) -> None:
        Process.objects.filter(pk=name).update(lease_until=A_MOMENT_AGO)
        services.reap_expired()

    def be_late(self, request: UUID) -> None:
        Request.objects.filter(pk=request).update(deadline=A_MOMENT_AGO)
        services.reap_expired()

    def keep(self, name: int, epoch: int) -> None:
        services.keep_resources(process=name, epoch=epoch, keep_seconds=3600)

    def resume(self, name: int) -> None:
        services.resume_kept(process=name)

    def end_keep(self, name: int) -> None:
        Process.objects.filter(pk=name).update(kept_until=A_MOMENT_AGO)
        services.reap_expired()

    def set_capacity(self, capacity: Vector) -> None:
        services.set_capacity(pool=self.pool, capacity=units(*capacity))

    def override_capacity(self, capacity: Vector) -> None:
        services.set_capacity(pool=self.pool, capacity=units(*capacity), override=AT_ALL_COSTS)

    def override_claim(self, name: int, claim: Vector) -> None:
        services.change_claim(process=name, maximum=units(*claim), override=AT_ALL_COSTS)

    def change_claim(self, name: int, claim: Vector) -> None:
        services.change_claim(process=name, maximum=units(*claim))

    def pump(self) -> int:
        return services.grant_waiting_requests_of_pool(pool=self.pool)

    def check_ledger(self) -> None:
        """Check that the holdings of processes equal their open grants, class by class."""
        assert not [
            row
            for row in Conservation.objects.filter(pool=self.pool)
            if row.difference or row.ungranted
        ]


def _row(process: Process) -> Row:
    return Row(
        tuple(process.max_claim),
        tuple(process.allocated),
        process.epoch,
        process.lease_until is not None,
        process.kept_until is not None,
        process.state == ProcessState.FINISHED,
        process.share_id,
    )
