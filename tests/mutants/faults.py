"""The planted faults. Each is one that a careful programmer could make, and that makes a bank leak,
hang or starve a process.
"""

from __future__ import annotations

from tests.mutants.planting import Fault

#: leaves every decision to the services, so that the server takes none alone
NEVER_QUICK = Fault(
    "allocation.services.quick_path:_are_positive_integers", "if not all(", "if True or not all("
)

#: in the pure rules, found by the state machine on paper
PURE = {
    "grants whatever is available": Fault(
        "allocation.rules.banker:decide_with_evidence",
        "enough = process in order if",
        "enough = True if",
    ),
    "is content as soon as anybody can finish": Fault(
        "allocation.rules.banker:decide_with_evidence",
        "process in order if state_is_safe",
        "bool(order) if state_is_safe",
    ),
    "compares with < instead of <=": Fault(
        "allocation.rules.safety:fits", "map(le, a, b)", "(x < y for x, y in zip(a, b))"
    ),
    "checks against Max instead of Need": Fault(
        "allocation.rules.banker:State.need", "minus(most, held)", "most"
    ),
    "freezes holders too once the first was passed often enough": Fault(
        "allocation.rules.fairness:turn_refusal", "if asker.holds", "if False"
    ),
    "starts a process beyond the limit of its share": Fault(
        "allocation.rules.fairness:turn_refusal", "if not asker.is_within_share", "if False"
    ),
    "leaves nothing to the reserves of other shares": Fault(
        "allocation.rules.fairness:units_kept_back", "asker.set_aside or none", "none"
    ),
    "counts what a share holds instead of what it claims": Fault(
        "allocation.rules.shares:ShareUse.claimed_units", "one.maximum for", "one.allocation for"
    ),
}

#: in the services, found by the state machine on PostgreSQL
SERVICES = {
    "does not serve waiters after a release": Fault(
        "allocation.services.releases:return_and_regrant",
        "grant_waiting_requests(bank)",
        "_ = None if kind == EventKind.RELEASED else grant_waiting_requests(bank)",
    ),
    "does not serve waiters after a finish": Fault(
        "allocation.services.releases:return_and_regrant",
        "grant_waiting_requests(bank)",
        "_ = None if kind == EventKind.FINISHED else grant_waiting_requests(bank)",
    ),
    "serves strictly in order of arrival": Fault(
        "allocation.services.grants_on_release:_serve_in_turn", "continue", "break"
    ),
    "makes a release as often as it is sent": Fault(
        "allocation.services.releases:_release_once",
        "return _repeated_release(bank, holder, earlier)",
        "earlier.delete()",
    ),
    "lets a claim exceed capacity": Fault(
        "allocation.services.checks:check_claim_fits", "if units > capacity", "if False"
    ),
    "forgets the limits of shares": Fault(
        "allocation.services.turns:asker_of", "process.share_id", "None"
    ),
}

#: in the server's functions, found by the same state machine: the function, the text to replace,
#: and its replacement
SERVER = {
    "forgets to count who was passed": (
        "allocation_write_grant",
        {"IF others_wait THEN": "IF false THEN"},
    ),
    "takes back all that was claimed": (
        "allocation_write_release",
        {"free[j] := free[j] + given[j]": "free[j] := free[j] + holder.max_claim[j]"},
    ),
    "leaves the units with who gave them back": (
        "allocation_write_release",
        {"SET allocated = held,": "SET"},
    ),
    "leaves a shift its lease": (
        "allocation_write_release",
        {"lease_until = CASE WHEN NOT ends_shift THEN lease_until END,": ""},
    ),
    "grants out of nothing": ("allocation_write_grant", {"free[j] := free[j] - wanted[j];": ""}),
}

#: in the server's own decisions, found by the comparison of twin pools; the last value is the first
#: of sixty histories that finds the fault, which is tried before the others
ALONE = {
    "takes what is reserved": (
        "allocation_grant",
        {"0 < ANY (bank.reserved)": "false"},
        1,
    ),
    "takes what the share of others has set aside": (
        "allocation_grant",
        {"0 < ANY (share.reserved)": "false"},
        25,
    ),
    "starts beyond the limit of a share": (
        "allocation_grant",
        {"2147483647 > ANY (share.limits)": "false"},
        11,
    ),
    "does not ask whether the asker could finish": (
        "allocation_grant",
        {"need <= available": "true"},
        0,
    ),
    "grants a part where all is to be asked for": (
        "allocation_grant",
        {"OR NOT is_whole": "OR true"},
        52,
    ),
    "starts a process that holds something": (
        "allocation_grant",
        {"asker.holding OR asker": "asker"},
        1,
    ),
    "lets a late shift give back": (
        "allocation_release",
        {"process.epoch = holder_epoch": "true"},
        8,
    ),
}
