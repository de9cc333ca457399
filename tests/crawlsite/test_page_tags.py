"""Tags of every template: addresses that are looked up once, and moments."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.humanize.templatetags import humanize
from django.template import Context, Template, defaulttags
from django.urls import NoReverseMatch, set_script_prefix
from django.utils import timezone

from crawlsite.templatetags.page_tags import intcomma, time_ago

ADDRESSES = [
    "{% url 'home' %}",
    "{% url 'crawling:crawl' 7 %}",
    "{% url 'crawling:crawl' crawl.pk %}",
    "{% url 'crawling:steer' crawl=7 verb='start' %}",
    "{% url 'crawling:steer' 7 verb %}",
    "{% url 'crawling:crawl' crawl.pk as address %}{{ address }}",
    "{% url 'crawling:crawl' crawl.none as address %}{{ address }}",
    "{% url 'admin:crawling_page_changelist' %}",
]
VALUES = {"crawl": {"pk": 7, "none": None}, "verb": "stop"}


@pytest.fixture
def prefix():
    yield
    set_script_prefix("/")


def shown(text, node=None):
    template = Template(text)
    for one in template.nodelist if node else ():
        one.__class__ = node if isinstance(one, defaulttags.URLNode) else one.__class__
    return template.render(Context(VALUES))


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_is_that_of_django_also_the_second_time(text):
    assert [shown(text), shown(text)] == [shown(text, defaulttags.URLNode)] * 2


@pytest.mark.usefixtures("prefix")
def test_behind_a_prefix_addresses_are_others():
    assert shown("{% url 'crawling:crawl' 7 %}") == "/crawls/7/"
    set_script_prefix("/inside/")
    assert shown("{% url 'crawling:crawl' 7 %}") == "/inside/crawls/7/"


def test_equal_values_of_other_types_have_no_address_of_each_other():
    assert shown("{% url 'crawling:crawl' 7 %}")
    with pytest.raises(NoReverseMatch):
        Template("{% url 'crawling:crawl' pk %}").render(Context({"pk": 7.0}))


def test_a_moment_is_told_in_the_zone_of_the_user_and_exact_for_programs():
    at = datetime(2020, 7, 1, 12, 0, 1, tzinfo=UTC)
    with timezone.override("Europe/Vienna"):
        told = time_ago(at)
    assert 'datetime="2020-07-01T14:00:01+02:00"' in told
    assert 'title="2020-07-01 14:00:01 CEST"' in told
    assert "days ago, 2020-07-01</time>" in told


def test_no_moment_is_a_dash():
    assert time_ago(None) == "–"


@pytest.mark.parametrize("number", [0, -7, 1234567, True, 1234.5, "12345", "x", None, 10**30])
def test_a_number_has_djangos_commas(number):
    assert intcomma(number) == humanize.intcomma(number)
