"""Each lock and fence of the bank, the code without it, and the test that then fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.mutants.planting import Fault
from tests.races import test_bank_locks as locks
from tests.races import test_bank_rivals as rivals
from tests.races import test_traps as traps

POOL_UNLOCKED = Fault("allocation.services.rows:lock_pool_of", " FOR NO KEY UPDATE", "")

LOCKS: dict[str, tuple[Fault, Callable]] = {
    "pool row, for decisions": (
        POOL_UNLOCKED,
        locks.test_decision_waits_for_one_on_another_process_and_class_and_sees_its_result,
    ),
    "pool row, before the processes are read": (
        Fault(
            "allocation.services.bank:locked_bank_of",
            "row = lock_pool_of(process)",
            "early = read_surroundings(Pool.objects.get(processes=process), [process]); row = "
            "lock_pool_of(process)",
            also=(
                ("_open_bank(row, read_surroundings(row, [process]))", "_open_bank(row, early)"),
            ),
        ),
        locks.test_decision_reads_processes_as_they_are_after_the_wait_for_the_lock,
    ),
    "pool row, between a release and a new wait": (
        POOL_UNLOCKED,
        traps.test_wait_that_begins_before_a_release_is_committed_is_granted_by_itself,
    ),
    "pool row, between a request and the same again": (
        POOL_UNLOCKED,
        rivals.test_same_request_sent_twice_at_once_is_granted_once,
    ),
    "pool row, between a release and the same again": (
        POOL_UNLOCKED,
        rivals.test_same_release_sent_twice_at_once_is_made_once,
    ),
    "process row, between the reaper and a renewal": (
        Fault("allocation.services.leases:_reap_pool", ".select_for_update(no_key=True)", ""),
        traps.test_renewal_that_comes_between_the_reapers_look_and_its_write_loses,
    ),
    "second look of the reaper, under the lock": (
        Fault(
            "allocation.services.leases:_reap_pool",
            "Process.objects.filter(IS_EXPIRED, pool=bank.pool)",
            "Process.objects.filter(lease_until__isnull=False, pool=bank.pool)",
        ),
        rivals.test_renewal_that_comes_before_the_reapers_lock_wins,
    ),
    "condition of taking up a shift": (
        Fault("allocation.services.leases:take_lease", "worker='', ", ""),
        rivals.test_shift_is_taken_up_by_one_of_two_at_once,
    ),
    "isolation that is asked for": (
        Fault(
            "allocation.services.transaction:_set_limits",
            "isolation != 'read committed'",
            "not isolation",
        ),
        locks.test_other_isolation_than_read_committed_is_refused,
    ),
}

#: in the server's functions: the function, the text to replace and its replacement, and the test
#: that fails
QUICK_LOCKS: dict[str, tuple[str, dict[str, str], Callable]] = {
    "pool row, between a request and the same again": (
        "allocation_locked",
        {"FOR NO KEY UPDATE": ""},
        rivals.test_same_request_sent_twice_at_once_is_granted_once,
    ),
    "pool row, before the process is read": (
        "allocation_grant",
        {
            "bank allocation_pool := ": "early allocation_process := (SELECT p "
            "FROM allocation_process AS p WHERE p.id = asker_id);\n"
            "    bank allocation_pool := ",
            "SELECT * INTO asker FROM": "SELECT (early).* INTO asker FROM",
        },
        locks.test_decision_reads_processes_as_they_are_after_the_wait_for_the_lock,
    ),
    "pool row, before the limit of a share is read": (
        "allocation_grant",
        {
            "bank allocation_pool := ": "is_limited boolean := EXISTS (SELECT "
            "FROM allocation_share AS early WHERE 2147483647 > ANY (early.limits));\n"
            "    bank allocation_pool := ",
            "share.id = asker.share_id AND 2147483647 > ANY (share.limits)": "is_limited",
        },
        locks.test_start_sees_the_limit_that_was_lowered_while_it_waited_for_the_lock,
    ),
    "second look at who waits, under the lock": (
        "allocation_locked",
        {"bank.id AND waits.state = 'waiting'": "bank.id AND false"},
        locks.test_release_serves_one_that_began_to_wait_while_it_stood_in_line,
    ),
    "isolation that is asked for": (
        "allocation_locked",
        {"<> 'read committed'": "= 'none'"},
        locks.test_other_isolation_than_read_committed_is_refused_by_the_server_too,
    ),
    "clock that does not stand still during a wait": (
        "allocation_begin_shift",
        {"lease_until = clock_timestamp()": "lease_until = now()"},
        traps.test_lease_of_a_grant_that_waited_for_the_lock_runs_from_the_grant,
    ),
    "clock that does not stand still while the services wait": (
        "allocation_begin_shift",
        {"lease_until = clock_timestamp()": "lease_until = now()"},
        traps.test_lease_of_a_grant_past_a_waiter_runs_from_the_grant,
    ),
}
