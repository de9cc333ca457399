"""States from textbooks, a digit for each class, with answers recomputed by a search of all
orders.
"""

from __future__ import annotations

from dataclasses import dataclass

from allocation.rules.banker import State


def rows(text: str) -> tuple[tuple[int, ...], ...]:
    """`010 200` is ((0, 1, 0), (2, 0, 0)); numbers above 9 are written one class a row, after
    `=`."""
    return tuple(
        (int(row[1:]),) if row.startswith("=") else tuple(int(digit) for digit in row)
        for row in text.split()
    )


def state(allocation: str, maximum: str, available: str) -> State:
    return State(rows(available)[0], rows(maximum), rows(allocation))


@dataclass(frozen=True)
class Case:
    """A state. `orders` counts the safe orders; `order` is one that the source gives (zero-based),
    None if unsafe.
    """

    name: str
    state: State
    orders: int
    order: str | None


S1 = state("010 200 302 211 002", "753 322 902 222 433", "332")
S2 = state("5 2 2", "=10 4 9", "3")
S3 = state("0012 1000 1354 0632 0014", "0012 1750 2356 0652 0656", "1520")
S4 = state("3141 2102 2413 4110 2221", "6473 4232 2533 6332 5675", "2224")
S5 = state("2001 3121 2103 1312 1432", "4212 5252 2316 1424 3665", "3321")
S6_ROWS = ("3014 2210 3121 0510 4212", "5117 3211 3321 4612 6325")
T1 = state("3 2 2", "9 4 7", "3")
T2 = state("1 1 2 4", "6 5 4 7", "2")
T3 = state("3011 0100 1110 1101 0000", "4111 0212 4210 1111 2110", "1020")
ST2 = state("100 511 211 002", "322 613 314 422", "112")
P3 = state("8 4 4 2", "=15 5 8 =10", "2")

CASES = [
    Case("S1 Silberschatz", S1, 16, "13402"),
    Case(
        "S1b after P1 102", state("010 302 302 211 002", "753 322 902 222 433", "230"), 8, "13402"
    ),
    Case("S2 tape drives", S2, 1, "102"),
    Case("S3", S3, 36, "02341"),
    Case("S4", S4, 24, "23014"),
    Case("S5", S5, 6, "03412"),
    Case("S6 unsafe", state(*S6_ROWS, "0301"), 0, None),
    Case("S6 safe", state(*S6_ROWS, "1002"), 6, "12340"),
    Case("T1 Tanenbaum safe", T1, 1, "120"),
    Case("T1 Tanenbaum unsafe", state("4 2 2", "9 4 7", "2"), 0, None),
    Case("T2 nothing held", state("0 0 0 0", "6 5 4 7", "=10"), 24, "0123"),
    Case("T2 safe", T2, 4, "2301"),
    Case("T2 unsafe", state("1 2 2 4", "6 5 4 7", "1"), 0, None),
    Case("T3", T3, 8, "34012"),
    Case(
        "T4, x = 0", state("10211 20110 11010 11110", "11213 22210 21310 11221", "00011"), 0, None
    ),
    Case(
        "T4, x = 9", state("10211 20110 11010 11110", "11213 22210 21310 11221", "00911"), 0, None
    ),
    Case("St1 Stallings", state("100 612 211 002", "322 613 314 422", "011"), 6, "1230"),
    Case("St2", ST2, 6, "1230"),
    Case(
        "R1 Rosetta",
        state("2011 0121 4003 0210 1030", "3214 0252 5105 1530 3033", "1222"),
        6,
        "20134",
    ),
    Case("C2", state("4001 1100 1254 0633 0212", "6012 1750 2356 1653 1656", "3211"), 4, "02314"),
    Case("P3 of the paper", P3, 2, "1230"),
]

#: state, process, request, answer (an error is "exceeds_need"), Available after a grant
REQUESTS = [
    (S1, 1, "102", "grant", "230"),
    (S1, 0, "020", "grant", "312"),
    (S1, 0, "030", "wait_unsafe", None),
    (S1, 4, "330", "wait_unsafe", None),
    (S1, 1, "103", "exceeds_need", None),
    (S1, 3, "020", "exceeds_need", None),
    (S2, 2, "1", "wait_unsafe", None),
    (S2, 0, "1", "grant", "2"),
    (S2, 1, "1", "grant", "2"),
    (S3, 1, "0420", "grant", "1100"),
    (S3, 4, "0020", "grant", "1500"),
    (S4, 4, "2224", "wait_unsafe", None),
    (S4, 2, "0110", "grant", "2114"),
    (S4, 3, "2212", "grant", "0012"),
    (S5, 1, "1100", "grant", "2221"),
    (S5, 4, "0020", "wait_unsafe", None),
    (T1, 0, "1", "wait_unsafe", None),
    (T2, 0, "1", "wait_unsafe", None),
    (T2, 1, "1", "wait_unsafe", None),
    (T2, 3, "1", "wait_unsafe", None),
    (T2, 2, "1", "grant", "1"),
    (T3, 1, "0010", "grant", "1010"),
    (T3, 0, "1000", "grant", "0020"),
    (ST2, 1, "101", "grant", "011"),
    (ST2, 0, "101", "wait_unsafe", None),
]
