"""Small random states with names, for tests of properties."""

from __future__ import annotations

from hypothesis import strategies as st

from allocation.rules.banker import State
from allocation.whatif.sandbox import MOST_UNITS, Sandbox

names = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=12
)
names = names.map(str.strip).filter(lambda name: name and name.isprintable())


@st.composite
def sandboxes(draw, most: int = 9, processes: int = 5) -> Sandbox:
    """States of up to four classes whose numbers are at most `most`."""
    classes = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    people = draw(st.lists(names, max_size=processes, unique=True))
    units = st.integers(0, most)
    vector = st.lists(units, min_size=len(classes), max_size=len(classes))
    maximum = [draw(vector) for _ in people]
    allocation = [[draw(st.integers(0, units)) for units in row] for row in maximum]
    return Sandbox(
        tuple(classes), tuple(people), State.from_arrays(draw(vector), maximum, allocation)
    )


large_ones = sandboxes(most=MOST_UNITS)
