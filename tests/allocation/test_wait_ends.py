"""A wait names its end: the release that is enough, and claims that none can meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocation.reasons import Parties, Party, explain
from allocation.rules import banker
from allocation.rules.banker import BankVerdict, State
from allocation.state_check import check_request, check_state, parties_with_names
from allocation.wait_ends import HoldingParty, sufficient_holders
from allocation.wording import UnitWords

ASKER = "asker"


def explained(available, holders, request, *, claim=None, classes=("a", "b"), kept=()):
    """Why a process that holds nothing waits; `holders`: name, Max and Allocation."""
    measures = tuple(UnitWords(key, "units") for key in classes[: len(available)])
    rows = [Party(i, name, held) for i, (name, _, held) in enumerate(holders)]
    nothing = (0,) * len(available)
    state = State(
        available,
        (*(most for _, most, _ in holders), claim or request),
        (*(held for *_, held in holders), nothing),
    )
    rows.append(Party(99, ASKER, nothing))
    row = len(holders)
    verdict = banker.decide(state, row, request)
    return explain(state, Parties(tuple(rows), measures, kept), row, request, verdict)


@pytest.mark.parametrize(
    ("holders", "asked", "sentence"),
    [
        ({"x": 3, "y": 3}, 3, "Ends with the release of 3 a by x or y."),
        ({"x": 3, "y": 2}, 5, "Ends with the release of 5 a by x and y together."),
        ({"x": 3, "y": 2, "z": 1}, 6, "Ends with the release of 6 a by x, y and z together."),
        ({"x": 3, "y": 1}, 2, "Ends with the release of 2 a by x."),
        (
            {"x": 2, "y": 2, "z": 2},
            4,
            "Ends with the release of 4 a, for example by x and y together.",
        ),
    ],
)
def test_a_wait_names_those_whose_release_is_enough(holders, asked, sentence):
    rows = [(name, (units,), (units,)) for name, units in holders.items()]

    why = explained((0,), rows, (asked,))

    assert why.what_ends_it == sentence


def test_who_holds_of_each_class_a_part_is_named_with_the_others():
    rows = [("x", (2, 0), (2, 0)), ("y", (0, 3), (0, 3)), ("idle", (1, 0), (1, 0))]

    why = explained((0, 0), rows, (2, 3))

    assert why.what_ends_it == "Ends with the release of 2 a and 3 b by y and x together."


def test_who_holds_of_two_classes_is_named_once():
    why = explained((0, 0), [("x", (2, 3), (2, 3)), ("y", (1, 0), (1, 0))], (3, 3))

    assert why.reason.endswith("Held by x (2 a and 3 b) and y (1 a).")


def test_an_unsafe_wait_ends_by_whose_release_it_becomes_safe():
    rows = [("x", (5,), (3,)), ("y", (5,), (3,))]

    why = explained((4,), rows, (3,), claim=(5,))

    assert why.verdict is BankVerdict.WAIT_UNSAFE
    assert "x, y and this process could block each other forever" in why.why
    assert why.what_ends_it == (
        "Ends with the release of a by x or y. Lower claims of a would make the grant safe."
    )


def test_reserved_units_count_and_their_process_is_named():
    kept = (Party(7, "paused", (4,)),)

    why = explained((0,), [], (4,), kept=kept)

    assert why.what_ends_it == "Ends with the release of 4 a by paused."


def test_of_many_holders_the_first_are_named():
    rows = [(f"p{i}", (1,), (1,)) for i in range(40)]

    why = explained((0,), rows, (1,))

    assert why.what_ends_it.endswith("by p0, p1, p2, p3, p4 or others.")


def test_more_than_the_pool_has_is_no_wait_for_holders():
    why = explained((1,), [("x", (2,), (2,))], (5,))

    assert why.reason == "Needs 5 a, but the pool has 3. No release is enough."
    assert why.what_ends_it == "Ends when the claim is lowered or the capacity raised."
    assert why.blockers == ()


def test_a_claim_above_the_pool_is_named_as_what_makes_a_grant_unsafe():
    why = explained((2,), [("x", (9,), (2,))], (2,), claim=(4,))

    assert why.reason == "x claims 9 a, but the pool has 4. No release is enough."
    assert why.what_ends_it == "Ends when the claim of x is lowered or the capacity raised."


def test_a_state_with_a_claim_above_all_units_says_so_and_who_suffers():
    state = State((1,), ((9,), (2,), (3,)), ((2,), (1,), (0,)))

    said = check_state(state, parties_with_names(state, ["x", "y", "z"], ["a"])).reason

    assert said == (
        "Unsafe: x claims 9 a of 4 that there are. Lower the claim or raise the capacity. "
        "z could wait forever for what it holds."
    )
    asked = check_request(state, 2, (3,), parties_with_names(state, ["x", "y", "z"], ["a"])).reason
    assert "block each other" not in asked


@given(
    held=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5),
    free=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    asked=st.tuples(st.integers(0, 6), st.integers(0, 6)),
)
def test_those_named_are_enough_and_none_is_too_many(held, free, asked):
    total = tuple(f + sum(one[j] for one in held) for j, f in enumerate(free))
    claim = tuple(min(a, t) for a, t in zip(asked, total, strict=True))
    state = State(free, (*held, claim), (*held, (0, 0)))
    holders = [HoldingParty(f"p{i}", one, i) for i, one in enumerate(held) if any(one)]

    said = sufficient_holders(state, holders, len(held), claim, [0, 1])

    def is_enough(names):
        given_back = [held[int(name[1:])] for name in names]
        return all(f + sum(one[j] for one in given_back) >= claim[j] for j, f in enumerate(free))

    names = said.replace(" or ", ", ").replace(" and ", ", ").removesuffix(" together")
    names = [name for name in names.split("by ")[-1].split(", ") if name.startswith("p")]
    assert names or not holders
    if "together" in said:
        assert is_enough(names)
        assert not any(is_enough([one for one in names if one != name]) for name in names)
    else:
        assert all(is_enough([name]) for name in names)
