"""Shares of a pool: a limit and a reserve for a group of processes, which bind only those that hold
nothing.
"""

from __future__ import annotations

from itertools import count
from uuid import uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings

from allocation.errors import (
    ClaimExceedsShare,
    ReserveExceedsLimit,
    ReservesExceedCapacity,
    ShareLimitBelowClaim,
)
from allocation.history.audit import audit_pool
from allocation.models import Event, Pool, Process, Request, Share
from allocation.rules.fairness import QueueVerdict
from allocation.rules.shares import NO_LIMIT
from allocation.selectors import bank_view
from allocation.services import (
    NewClass,
    ShareLimits,
    add_resource_class,
    change_claim,
    change_share,
    ensure_share,
    finish_process,
    preview_limits,
    preview_share,
    register_process,
    release_resources,
)
from allocation.values import PoolLimits
from tests.allocation.conftest import ask, held, units
from tests.allocation.history.histories import Story, histories, rewrite

pytestmark = pytest.mark.django_db
NUMBERS = count()


@pytest.fixture
def pool(make_pool) -> Pool:
    return make_pool(10)


@pytest.fixture
def team(pool) -> Share:
    """At most 6 of the 10."""
    share = ensure_share(pool=pool.pk, ref="team/1", name="news")
    return change_share(share=share.pk, limits=ShareLimits(limits={"a": 6}))


def member(share: Share, label: str, claim: int, holding: int = 0) -> Process:
    process = register_process(
        pool=share.pool_id, label=label, run_ref=label, maximum={"a": claim}, share=share.pk
    )
    if holding:
        assert ask(process, (holding,)).granted
    return process


def end(process: Process) -> None:
    process.refresh_from_db()
    release_resources(
        process=process.pk, epoch=process.epoch, release_id=uuid4(), amounts=None, reason="end"
    )


def test_limit_counts_the_claims_of_those_who_hold(team):
    first, second = member(team, "first", 4, 1), member(team, "second", 3)

    outcome = ask(second, (1,))

    assert outcome.verdict is QueueVerdict.WAIT_SHARE
    assert "the limit of news is 6 a (4 claimed, 3 more requested)" in outcome.reason
    larger = preview_limits(pool=team.pool_id, limits=PoolLimits(capacity={"a": 12}))
    assert (larger.waiting, larger.waiting_shares) == (("second",), ("news",))
    (wait,) = bank_view(team.pool_id).waiting
    assert (wait.verdict, wait.kind_of_wait) == (QueueVerdict.WAIT_SHARE, "limit of its share")
    assert "first" in wait.what_ends_it
    assert ask(first, (3,)).granted, "a limit never refuses one that holds something"
    end(first)
    assert held(second) == (1,)


def test_one_beyond_its_limit_keeps_no_other_share_from_its_turn(pool, team, make_process):
    Pool.objects.update(bypass_limit=1)
    member(team, "busy", 5, 2)
    waiting, small = member(team, "waiting", 3), member(team, "small", 1)
    ask(waiting, (3,))

    others = [make_process(pool, f"other {i}", (1,), (1,)) for i in range(4)]

    assert len(others) == 4, "each passed the one that waits for its share"
    assert Request.objects.get(process=waiting).bypassed == 2
    assert ask(small, (1,)).verdict is QueueVerdict.WAIT_TURN, "its own share waits behind it"
    waits = {wait.label: wait.verdict for wait in bank_view(pool.pk).waiting}
    assert waits == {"waiting": QueueVerdict.WAIT_SHARE, "small": QueueVerdict.WAIT_TURN}


def test_reserve_is_left_to_the_share_but_holders_take_it(pool, make_process):
    share = ensure_share(pool=pool.pk, ref="team/1", name="news")
    change_share(share=share.pk, limits=ShareLimits(reserved={"a": 4}))
    holder = make_process(pool, "holder", (8,), (2,))
    other, own = make_process(pool, "other", (5,)), member(share, "own", 4)

    outcome = ask(other, (5,))

    assert outcome.verdict is QueueVerdict.WAIT_RESERVED
    assert "are reserved for news" in outcome.reason
    assert ask(holder, (6,)).granted, "it holds something"
    release_resources(
        process=holder.pk, epoch=1, release_id=uuid4(), amounts=units(6), reason="enough"
    )
    assert ask(own, (4,)).granted, "what it takes of its reserve takes nothing from others"
    end(holder)
    assert held(other) == (5,), "its reserve is in use, so nothing more is set aside"


def test_lower_limit_takes_nothing_and_a_higher_one_serves_who_waits(team):
    first, second = member(team, "first", 3, 3), member(team, "second", 3, 1)

    change_share(share=team.pk, limits=ShareLimits(limits={"a": 3}))

    assert ask(second, (2,)).granted
    third = member(team, "third", 2)
    assert ask(third, (2,)).verdict is QueueVerdict.WAIT_SHARE
    end(first)
    assert held(third) == (0,)
    change_share(share=team.pk, limits=ShareLimits(limits={"a": None}))
    assert held(third) == (2,)


def test_what_cannot_be_is_refused(pool, team):
    running, other = member(team, "running", 4, 1), member(team, "other", 2, 1)
    second = ensure_share(pool=pool.pk, ref="team/2", name="shop")
    for share, refusal, wanted in (
        (team, ShareLimitBelowClaim, ShareLimits(limits={"a": 3})),
        (team, ReserveExceedsLimit, ShareLimits(reserved={"a": 7})),
        (second, ReservesExceedCapacity, ShareLimits(reserved={"a": 11})),
    ):
        before = Event.objects.count()
        with pytest.raises(refusal):
            change_share(share=share.pk, limits=wanted)
        assert Event.objects.count() == before

    with pytest.raises(ClaimExceedsShare):
        member(team, "greedy", 7)
    with pytest.raises(ClaimExceedsShare, match="claimed by others: 2"):
        change_claim(process=running.pk, maximum={"a": 5})
    finish_process(process=other.pk)
    assert change_claim(process=running.pk, maximum={"a": 6}).max_claim == [6]


def test_preview_names_the_share_that_would_wait(pool, team):
    member(team, "running", 2, 1)
    member(team, "idle", 4)

    lower = preview_share(share=team.pk, limits=ShareLimits(limits={"a": 5}))
    smaller = preview_limits(pool=pool.pk, limits=PoolLimits(capacity={"a": 4}))

    assert (lower.would_wait, lower.would_wait_shares) == (("idle",), ("news",))
    assert (smaller.would_wait, smaller.would_wait_shares) == (("idle",), ("news",))
    assert Share.objects.get(pk=team.pk).limits == [6]


def test_new_class_has_no_limit_in_a_share(pool, team):
    add_resource_class(pool=pool.pk, new=NewClass("b", "u", "New.", 3))

    team.refresh_from_db()
    assert (team.reserved, team.limits) == ([0, 0], [6, NO_LIMIT])
    process = register_process(
        pool=pool.pk, label="p", run_ref="p", maximum=units(1, 3), share=team.pk
    )
    assert ask(process, (1, 3)).granted
    assert audit_pool(pool.pk).findings == ()


def test_share_follows_the_name_of_its_group_and_is_made_once(pool, team):
    again = ensure_share(pool=pool.pk, ref="team/1", name="newsroom")

    assert (again.pk, again.name, again.limits) == (team.pk, "newsroom", [6])


def check_releases(pool: Pool) -> list[str]:
    """One process whose release is said to end a wait ends it; returns who they were."""
    told = [wait for wait in bank_view(pool.pk).waiting if len(wait.release) == 1][:2]
    for wait in told:
        before = transaction.savepoint()
        process = Process.objects.get(pk=wait.release[0].process)
        release_resources(process=process.pk, epoch=process.epoch, release_id=uuid4(), amounts=None)
        assert Request.objects.get(pk=wait.request).state == "granted"
        transaction.savepoint_rollback(before)
    return [wait.release[0].label for wait in told]


@pytest.mark.slow
@pytest.mark.parametrize(
    "examples", [5, pytest.param(150, marks=[pytest.mark.drill, pytest.mark.timeout(1800)])]
)
def test_whatever_happens_limits_hold_nobody_is_left_and_the_ledger_proves_it(make_pool, examples):
    """After each history all who hold ask for all they still may, and finish: all are served."""
    verdicts, releases = set(), []

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(histories)
    def told(deeds):
        pool = make_pool(6, 4, name=f"shares {next(NUMBERS)}")
        story = Story(pool, with_shares=True)
        limited, late = ("share", 0, {"a": 1, "b": 1}), ("start", 1, {"a": 1})
        story.tell([limited, *deeds[:3], ("cancel", 1, {}), late, *deeds[3:]])
        releases.extend(check_releases(pool))
        verdicts.update(Request.objects.filter(pool=pool).values_list("verdict", flat=True))
        story.end()
        assert not Request.objects.filter(pool=pool, state="waiting").exists()
        assert audit_pool(pool.pk).findings == ()

    told()
    assert "wait_share" in verdicts
    assert releases, "no wait had one whose release ends it"


def test_audit_finds_a_start_beyond_the_limit_and_a_wait_within_it(pool, team):
    member(team, "first", 4, 1)
    second = member(team, "second", 3)
    ask(second, (1,))
    limited = Event.objects.get(kind="share_limited")

    rewrite("UPDATE allocation_event SET amounts = '{9}' WHERE id = %s", limited.pk)
    assert "room within the limit" in audit_pool(pool.pk).findings[0].sentence
    rewrite("UPDATE allocation_event SET amounts = '{3}' WHERE id = %s", limited.pk)
    assert "keeps it back" in audit_pool(pool.pk).findings[0].sentence
    rewrite("UPDATE allocation_event SET share_id = NULL WHERE id = %s", limited.pk)
    assert "no share" in audit_pool(pool.pk).findings[0].sentence
