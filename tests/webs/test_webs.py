"""The regression web's servers cost a crawl what their cases say, and no more."""

from __future__ import annotations

import pytest

from tests.webs.cases import CASES
from tests.webs.judging import line, table
from tests.webs.playing import play_alone, play_together

pytestmark = pytest.mark.usefixtures("transactional_db", "identified")


def test_names_of_cases_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.timeout(300)
def test_every_small_case_ends_as_it_must_beside_all_others(order, tmp_path):
    seen = play_together(order, tmp_path, [case for case in CASES if case.small])

    assert not any(one.faults() for one in seen), f"\n{table(seen)}"


@pytest.mark.drill
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_ends_as_it_must_alone(order, tmp_path, case):
    """Prints the case's line of the table: `make drill ARGS="-s tests/webs"`."""
    seen = play_alone(order, tmp_path, case)

    print(f"\n{line(seen)}")
    assert seen.faults() == []
