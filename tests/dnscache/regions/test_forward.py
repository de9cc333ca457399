import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnscache.regions.forward import ForwardRegion
from tests.dnscache.regions.conftest import NOW, entry


def region(*names):
    made = ForwardRegion()
    for name in names:
        made.add(entry(name))
    return made


def tree(made, first):
    return {second.name: {node.name for node in below} for second, below in made.branches(first)}


def test_table_1_leads_from_a_registered_name_to_its_second_level():
    made = region("pan.baidu.com", "www.baidu.com", "baidu.com", "www.sina.com.cn")

    assert made.table1.keys() == {"baidu.com", "sina.com.cn"}
    assert tree(made, "baidu.com").keys() == {"baidu.com", "pan.baidu.com", "www.baidu.com"}
    assert tree(made, "unknown.com") == {}


def test_third_level_names_hang_left_of_their_second_level_then_right_of_each_other():
    made = region(
        "pan.baidu.com", "a.pan.baidu.com", "b.pan.baidu.com", "c.pan.baidu.com", "x.www.baidu.com"
    )
    pan = made.table2["pan.baidu.com"]

    assert pan.left.name == "c.pan.baidu.com"
    assert [pan.left.right.name, pan.left.right.right.name, pan.left.right.right.right] == [
        "b.pan.baidu.com",
        "a.pan.baidu.com",
        None,
    ]
    assert tree(made, "baidu.com")["www.baidu.com"] == {"x.www.baidu.com"}


def test_table_2_keeps_the_address_of_a_name_at_every_level():
    made = ForwardRegion()
    for n, name in enumerate(
        ["baidu.com", "pan.baidu.com", "a.pan.baidu.com", "b.a.pan.baidu.com"]
    ):
        made.add(entry(name, address=f"192.0.2.{n}"))

    assert {name: made.table2[name].addresses for name in made.table2} == {
        "baidu.com": ("192.0.2.0",),
        "pan.baidu.com": ("192.0.2.1",),
        "a.pan.baidu.com": ("192.0.2.2",),
        "b.a.pan.baidu.com": ("192.0.2.3",),
    }


def test_a_parent_without_an_address_holds_its_children_as_long_as_there_are_any():
    made = region("a.pan.baidu.com")
    assert tree(made, "baidu.com") == {"pan.baidu.com": {"a.pan.baidu.com"}}
    assert made.names_of("baidu.com") == ["a.pan.baidu.com"]

    made.add(entry("pan.baidu.com"))
    assert made.names_of("baidu.com") == ["pan.baidu.com", "a.pan.baidu.com"]
    made.remove(made.table2["pan.baidu.com"])
    assert tree(made, "baidu.com") == {"pan.baidu.com": {"a.pan.baidu.com"}}

    made.remove(made.table2["a.pan.baidu.com"])
    assert (made.table1, made.table2) == ({}, {})


@pytest.mark.parametrize(("quantile", "gone"), [(0.5, "ab"), (0.25, "a"), (0.0, "")])
def test_past_the_limit_third_level_names_used_before_the_middle_go(quantile, gone):
    made = ForwardRegion()
    for age, name in enumerate("dcba"):
        made.add(entry(f"{name}.www.baidu.com", at=NOW - age))

    assert made.surplus_names(most=4, quantile=quantile) == []
    assert sorted(made.surplus_names(most=3, quantile=quantile)) == [
        f"{name}.www.baidu.com" for name in gone
    ]


def test_names_used_at_the_moment_of_the_cut_stay_and_other_levels_never_go():
    made = region("baidu.com", "www.baidu.com", *[f"{n}.www.baidu.com" for n in range(6)])
    assert made.surplus_names(most=0) == []


words = st.sampled_from(
    [
        "x.com",
        "a.x.com",
        "b.x.com",
        "1.a.x.com",
        "2.a.x.com",
        "3.1.a.x.com",
        "1.b.x.com",
        "1.c.x.com",
        "y.co.uk",
        "z",
    ]
)


@given(st.lists(st.tuples(st.booleans(), words), max_size=40))
def test_tree_and_tables_agree_whatever_comes_and_goes(steps):
    made, model = ForwardRegion(), set()
    for adds, name in steps:
        if adds:
            made.add(entry(name))
            model.add(name)
        elif name in model:
            made.remove(made.table2[name])
            model.discard(name)
        walked = [node for first in made.table1 for node in nodes(made, first)]
        assert len({node.name for node in walked}) == len(walked)
        assert {node.name for node in walked if node.name in made.table2} == model
        assert made.table2.keys() == model
        assert {name for first in made.table1 for name in made.names_of(first)} == model
        assert all(
            node is made.table2[node.name] if node.name in model else node.left for node in walked
        )
        assert made.third_level == sum(name[:1].isdigit() for name in model)


def nodes(made, first):
    return [node for second, below in made.branches(first) for node in (second, *below)]
