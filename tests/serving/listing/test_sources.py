"""Lists of records continue behind a key: nobody who reads on sees a record twice or misses one,
whatever is added meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import pytest
from django.contrib.auth.models import Group
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from serving.listing.columns import Column, row_of
from serving.listing.sources import FoundList, QueryList


@dataclass(frozen=True)
class GroupRow:
    """A row of the tests."""

    id: int
    title: Annotated[str, Column(of="name")]


LISTS = {
    "latest": QueryList(GroupRow),
    "oldest": QueryList(GroupRow, is_oldest_first=True),
    "by name": QueryList(GroupRow, key="name", goes_by_number=False, is_oldest_first=True),
    "read": QueryList(GroupRow, read=lambda found: [GroupRow(one.pk, one.name) for one in found]),
}
NAMES = st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=12)


class TestPages(TestCase):
    @given(
        names=NAMES,
        added=NAMES,
        most=st.integers(1, 4),
        name=st.sampled_from(list(LISTS)),
    )
    def test_pages_have_each_record_once_while_others_are_added(self, names, added, most, name):
        groups, rows = Group.objects.all(), LISTS[name]
        before = {Group.objects.create(name=f"{one}-") for one in names}
        found, after, added = [], "", iter(added)
        while after is not None:
            page, after = rows.page(groups, after=str(after), most=most)
            assert len(page) <= most
            found += page
            assert len({row.id for row in found}) == len(found)
            if one := next(added, ""):
                Group.objects.create(name=f"{one}+")

        assert {group.pk for group in before} <= {row.id for row in found}
        key = (lambda row: row.title) if name == "by name" else (lambda row: row.id)
        assert found == sorted(found, key=key, reverse=not rows.is_oldest_first)

    @given(names=NAMES, chunk=st.integers(1, 4))
    def test_files_have_all_records(self, names, chunk):
        made = [Group.objects.create(name=one) for one in names]

        found = list(LISTS["latest"].each(Group.objects.all(), chunk=chunk))

        assert found == [{"id": one.pk, "title": one.name} for one in reversed(made)]


def test_what_is_behind_nothing_is_an_empty_text_or_none():
    @dataclass(frozen=True)
    class Written:
        by: Annotated[str, Column(of="author.name")]
        at: Annotated[int | None, Column(of="author.born.year")]

    of_nobody, of_one = (
        SimpleNamespace(author=author)
        for author in (None, SimpleNamespace(name="Ada", born=SimpleNamespace(year=1815)))
    )

    assert row_of(Written, of_nobody) == Written("", None)
    assert row_of(Written, of_one) == Written("Ada", 1815)


@pytest.mark.parametrize(("goes_by_number", "key"), [(True, 3), (False, "3")])
def test_a_function_gets_its_key_as_a_number_or_a_text(goes_by_number, key):
    def find(*, after=None, most):
        return [GroupRow(1, "")][:most], after

    rows = FoundList(GroupRow, goes_by_number)

    assert rows.page(find, most=1) == ([GroupRow(1, "")], None)
    assert rows.page(find, after="3", most=1)[1] == key
