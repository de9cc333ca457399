"""Processes that give everything back when they are refused, and ask again, for ever: they still
finish (SEEDS P6).
"""

from __future__ import annotations

from random import Random

from allocation.rules.banker import BankVerdict, State, Vector, decide, fits, minus, plus


def grants(
    available: Vector,
    claims: list[Vector],
    held: list[Vector],
    process: int,
    wanted: Vector,
    *,
    policy: str,
) -> bool:
    if policy == "naive":
        return fits(wanted, available)
    return (
        decide(State(available, tuple(claims), tuple(held)), process, wanted) is BankVerdict.GRANT
    )


def rounds_until_done(
    capacity: Vector, claims: list[Vector], random: Random | None, *, policy: str, most: int
) -> int | None:
    """Each round everyone asks for one more class of its claim; a refused process gives all back
    when the round ends.
    """
    available, held, left = (
        capacity,
        [(0,) * len(capacity) for _ in claims],
        set(range(len(claims))),
    )
    for number in range(most):
        refused = set()
        for process in random.sample(sorted(left), len(left)) if random else sorted(left):
            need = minus(claims[process], held[process])
            # In lockstep, odd processes begin with the last class: each takes what the other will
            # want.
            wanting = [j for j, units in enumerate(need) if units] or [0]
            j = random.choice(wanting) if random else wanting[-(process % 2)]
            wanted = tuple(units if i == j else 0 for i, units in enumerate(need))
            if grants(available, claims, held, process, wanted, policy=policy):
                available, held[process] = minus(available, wanted), plus(held[process], wanted)
            else:
                refused.add(process)
        done = {process for process in left if held[process] == claims[process]}
        for process in done | refused:
            available, held[process] = plus(available, held[process]), (0,) * len(capacity)
        left -= done
        if not left:
            return number + 1
    return None


def test_naive_grants_let_two_in_lockstep_take_and_give_back_for_ever():
    """The negative control, without which any rule would pass."""
    assert rounds_until_done((1, 1), [(1, 1), (1, 1)], None, policy="naive", most=1_000) is None


def test_banker_refuses_the_second_of_them_before_it_is_in_the_way():
    assert rounds_until_done((1, 1), [(1, 1), (1, 1)], None, policy="banker", most=10) is not None


def test_all_who_release_and_ask_again_finish_in_few_rounds():
    random = Random(5)
    for _ in range(200):
        capacity = tuple(random.randint(1, 6) for _ in range(3))
        claims = [
            tuple(random.randint(0, units) for units in capacity)
            for _ in range(random.randint(2, 8))
        ]

        assert (
            rounds_until_done(capacity, claims, random, policy="banker", most=40 * len(claims))
            is not None
        ), (capacity, claims)
