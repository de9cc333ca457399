import pytest

from dnscache.protocol.names import Levels, levels_of


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("baidu.com", Levels("baidu.com")),
        ("pan.baidu.com", Levels("baidu.com", "pan.baidu.com")),
        ("a.pan.baidu.com", Levels("baidu.com", "pan.baidu.com", "a.pan.baidu.com")),
        ("b.a.pan.baidu.com", Levels("baidu.com", "pan.baidu.com", "b.a.pan.baidu.com")),
        ("news.sina.com.cn", Levels("sina.com.cn", "news.sina.com.cn")),
        ("bbc.co.uk", Levels("bbc.co.uk")),
        ("www.city.kawasaki.jp", Levels("city.kawasaki.jp", "www.city.kawasaki.jp")),
        ("a.b.kawasaki.jp", Levels("a.b.kawasaki.jp")),
        ("www.xn--bcher-kva.example", Levels("xn--bcher-kva.example", "www.xn--bcher-kva.example")),
        ("me.github.io", Levels("github.io", "me.github.io")),
        ("s3.amazonaws.com", Levels("amazonaws.com", "s3.amazonaws.com")),
        ("com.cn", Levels("com.cn")),
        ("db", Levels("db")),
        ("a.host.test", Levels("host.test", "a.host.test")),
    ],
)
def test_a_name_is_split_where_somebody_registered_it(name, levels):
    assert levels_of(name) == levels


@pytest.mark.parametrize(
    ("name", "level"),
    [("baidu.com", 1), ("pan.baidu.com", 2), ("a.pan.baidu.com", 3), ("c.b.a.pan.baidu.com", 3)],
)
def test_everything_below_the_second_level_is_third(name, level):
    assert levels_of(name).level == level
