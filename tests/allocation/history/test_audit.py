"""The audit proves a whole history, or names the first event that cannot be."""

from __future__ import annotations

import json
from itertools import count

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings

from allocation.history.audit import audit_pool
from allocation.models import Event, EventKind, Grant, Pool, Process
from allocation.rules.replay import MOVES
from tests.allocation.conftest import ask
from tests.allocation.history.histories import Story, histories, rewrite

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NUMBERS = count()


@pytest.fixture
def nothing_is_lost():
    """Here units are lost on purpose."""


@pytest.fixture
def bank(make_pool, make_process) -> Pool:
    """SEEDS A5's kind of pool: 4 created, 3 registered, grants 5 2 2 of 12, then b asks for 3
    (unsafe) and c gets its last 2.
    """
    pool = make_pool(12)
    processes = [
        make_process(pool, name, (most,), (held,))
        for name, most, held in (("a", 10, 5), ("b", 5, 2), ("c", 9, 2))
    ]
    ask(processes[2], (1,))  # waits: unsafe
    ask(processes[1], (1,))
    return pool


def first_finding(pool: Pool) -> str:
    return audit_pool(pool.pk).findings[0].sentence


def event_of(pool: Pool, kind: str) -> Event:
    return Event.objects.filter(pool=pool, kind=kind).order_by("-version").first()


@pytest.mark.parametrize(
    "examples", [8, pytest.param(60, marks=[pytest.mark.drill, pytest.mark.timeout(1800)])]
)
@pytest.mark.parametrize("policy", ["banker", "naive", "all_at_once"])
def test_whatever_history_the_services_make_is_proved(make_pool, policy, examples):
    kinds = set()

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(histories)
    def told(deeds):
        pool = make_pool(6, 4, name=f"pool {next(NUMBERS)}", policy=policy)
        Story(pool).tell(deeds)
        audit = audit_pool(pool.pk)
        assert audit.findings == ()
        kinds.update(Event.objects.filter(pool=pool).values_list("kind", flat=True))

    told()
    assert {"granted", "waiting", "released"} <= kinds or policy == "all_at_once"


def test_every_kind_of_event_can_be_replayed():
    assert set(EventKind.values) <= set(MOVES)


def test_clean_ledger_is_told_in_one_line_a_pool(bank, make_pool, capsys):
    make_pool(3, name="second")

    call_command("audit_allocation")

    assert capsys.readouterr().out.splitlines() == [
        "Pool pool: 9 events, 5 decisions; every one is right, and nothing is missing.",
        "Pool second: 1 events, 0 decisions; every one is right, and nothing is missing.",
    ]


def test_breach_ends_with_status_1_and_names_the_first_bad_event_for_programs_too(bank, capsys):
    rewrite(
        "UPDATE allocation_event SET amounts = '{3}' WHERE id = %s", event_of(bank, "granted").pk
    )

    with pytest.raises(CommandError, match="Not as it should be: pool"):
        call_command("audit_allocation", "--pool", "pool", "--json")

    (audit,) = json.loads(capsys.readouterr().out)
    assert audit["findings"][0]["version"] == 9
    assert audit["findings"][0]["recorded"] == "Available after it (2,)"
    assert audit["findings"][0]["found"] == "(0,)"


def test_pool_that_does_not_exist_is_told(db):
    with pytest.raises(CommandError, match="There is no pool nobody"):
        call_command("audit_allocation", "--pool", "nobody")


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        (
            "granted",
            "available_after = '{4}'",
            "recorded Available after it (4,); the replay finds (2,)",
        ),
        (
            "waiting",
            "available_before = '{9}'",
            "recorded Available before it (9,); the replay finds (3,)",
        ),
        (
            "waiting",
            "verdict = 'wait_unavailable'",
            "recorded wait_unavailable; the replay finds wait_unsafe",
        ),
        ("waiting", "verdict = ''", "recorded no verdict; the replay finds wait_unsafe"),
        ("waiting", "amounts = '{8}'", "recorded a wait for (8,); the replay finds that process"),
        (
            "granted",
            "sequence = '{}'",
            "recorded the sequence (); the replay finds no proof that process",
        ),
        (
            "granted",
            "version = 10",
            "recorded version 10; the replay finds that version 9 comes next",
        ),
        (
            "granted",
            "kind = 'mislaid'",
            "recorded the kind mislaid; the replay finds that it does not know it",
        ),
        ("granted", "kind = 'released'", "recorded Available after it (2,); the replay finds (4,)"),
        ("granted", "kind = 'expired'", "recorded the end of a wait"),
        (
            "waiting",
            "kind = 'rejected'",
            "recorded a rejection of (1,); the replay finds that process",
        ),
        ("waiting", "kind = 'finished'", "the replay finds (2,)"),
        (
            "granted",
            "kind = 'cancelled', available_after = '{3}'",
            "recorded the end of a wait of process",
        ),
        (
            "waiting",
            "verdict = 'wait_turn'",
            "recorded wait_turn; the replay finds wait_unsafe, and turns bind only those that "
            "hold nothing",
        ),
        ("granted", "kind = 'kept'", "recorded that process"),
        ("granted", "kind = 'resumed'", "recorded a reservation of process"),
        (
            "waiting",
            "kind = 'granted', available_after = '{2}', verdict = 'grant'",
            "recorded the sequence (); the replay finds no proof",
        ),
        (
            "registered",
            "amounts = '{13}'",
            "recorded the claim (13,); the replay finds a capacity of (12,)",
        ),
        (
            "granted",
            "kind = 'capacity_set', amounts = '{11}'",
            "recorded (11,), without an override; the replay finds that the state",
        ),
        (
            "granted",
            "process_id = 0",
            "recorded process 0; the replay finds no such process at that time",
        ),
        (
            "granted",
            "request_id = NULL",
            "recorded no request; the replay finds that there must be one",
        ),
    ],
)
def test_event_that_cannot_be_is_named(bank, kind, change, sentence):
    rewrite(f"UPDATE allocation_event SET {change} WHERE id = %s", event_of(bank, kind).pk)

    assert sentence in first_finding(bank)


def test_grant_that_was_not_safe_is_named_even_with_a_sequence(bank):
    waiting = event_of(bank, "waiting")
    rewrite(
        "UPDATE allocation_event SET kind = 'granted', available_after = '{2}', verdict = "
        "'grant', sequence = ARRAY[%s, %s] WHERE id = %s",
        Process.objects.get(label="b").pk,
        waiting.process_id,
        waiting.pk,
    )

    assert "cannot finish with" in first_finding(bank)


def test_event_that_was_taken_out_is_missed(bank):
    rewrite("DELETE FROM allocation_event WHERE pool_id = %s AND version = 5", bank.pk)

    assert (
        first_finding(bank)
        == "Event 6 (registered): recorded version 6; the replay finds that version 5 comes next."
    )


def test_last_event_taken_out_is_missed_too(bank):
    rewrite("DELETE FROM allocation_event WHERE pool_id = %s AND version = 9", bank.pk)

    assert "in the pool's version: recorded 9; the replay finds 8" in first_finding(bank)


def test_rows_that_differ_from_the_ledger_are_named(bank):
    process = Process.objects.get(label="a")
    Process.objects.filter(pk=process.pk).update(allocated=[4])
    Pool.objects.filter(pk=bank.pk).update(available=[4])

    sentences = [finding.sentence for finding in audit_pool(bank.pk).findings]

    assert (
        "The rows differ from the ledger in Available: recorded (4,); the replay finds (2,)."
        in sentences
    )
    assert (
        f"The rows differ from the ledger in what process {process.pk} holds: recorded (4,); "
        "the replay finds (5,)." in sentences
    )
    assert (
        "Units of a are missing: capacity 12, available 4, held 9 (difference -1; held without "
        "a grant -1)." in sentences
    )


def test_grant_that_was_closed_behind_the_banks_back_is_named(bank):
    process = Process.objects.get(label="a")
    Grant.objects.filter(process=process).update(remaining=[0], released_at="2026-01-01T00:00Z")

    assert (
        f"the open grants of process {process.pk}: recorded (0,); the replay finds (5,)"
        in first_finding(bank)
    )
