"""Templates with faster variables say what Django's say."""

from __future__ import annotations

from collections import UserDict, namedtuple
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.template import Context, Template, engines
from django.template.loader import get_template
from django.utils import timezone
from django.utils.safestring import mark_safe

from crawlsite.template_lookup import ExpressionNode, QuickTemplate

Row = namedtuple("Row", "name count")


class Crawl:
    name = "a <b> & 'c'"
    count = 1234567
    share = 0.25
    exact = Decimal("1.50")
    at = datetime(2020, 7, 1, 12, 0, 1, tzinfo=UTC)
    nothing = None
    markup = mark_safe("<i>x</i>")

    def verb(self):
        return "start"

    def needs(self, what):
        return what

    def delete(self):
        return "deleted"

    delete.alters_data = True

    @property
    def gone(self):
        raise ObjectDoesNotExist

    @property
    def broken(self):
        raise AttributeError("its own")

    def faulty(self):
        raise TypeError("its own")

    def __str__(self):
        return "Crawl <1>"


class Choice:
    do_not_call_in_templates = True
    label = "chosen"

    def __call__(self):
        return "called"

    def __str__(self):
        return "choice"


class Shelf(list):
    def __getitem__(self, place):
        return "any" if place == "name" else super().__getitem__(place)


def values():
    return {
        "crawl": Crawl(),
        "kind": Crawl,
        "choice": Choice(),
        "row": Row("r<", 5),
        "both": {"items": "a key", "count": 3, "0": "zero", "none": None},
        "user": UserDict(count=2),
        "shelf": Shelf("ab"),
        "rows": [Row("x", 1), Row("y", 2)],
        "words": ["a", "<b>"],
        "text": "some <text>",
        "call": lambda: {"name": "made"},
        "n": 3,
        "yes": True,
        "dicts": "not the context's own",
        "sequence": (1, 2),
        "at": Crawl.at,
    }


SOURCES = [
    "{{ crawl }}",
    "{{ crawl.name }} {{ crawl.count }} {{ crawl.share }} {{ crawl.exact }} {{ crawl.nothing }}",
    "{{ crawl.name|upper }} {{ crawl.name|safe }} {{ crawl.markup }} {{ crawl.markup|upper }}",
    "{{ crawl.at }} {{ crawl.at|date:'Y-m-d H:i e' }} {{ at }}",
    "{{ crawl.verb }} {{ crawl.needs }} {{ crawl.delete }} {{ crawl.gone }} {{ crawl.gone.name }}",
    "{{ kind.name }} {{ kind }} {{ choice }}{{ choice.label }}",
    "{{ row.name }} {{ row.0 }} {{ row.1 }} {{ row.2 }} {{ row.missing }} {{ row.index }}",
    "{{ both.items }} {{ both.count }} {{ both.0 }} {{ both.none }} {{ both.keys }}",
    "{{ both.missing }}{{ both.missing.more }}{{ both.none.more }}",
    "{{ user.count }} {{ user.data }} {{ user.missing }}",
    "{{ shelf.name }} {{ shelf.0 }} {{ shelf.other }}",
    "{{ rows.0.name }} {{ rows.1.count }} {{ rows.2.name }} {{ rows.name }}",
    "{{ words }} {{ words.1 }} {{ words|join:', ' }} {{ "
    "words.count }} {{ text.0 }} {{ text.upper }}",
    "{{ call.name }} {{ call }} {{ dicts }} {{ missing }} {{ "
    "missing.name }} {{ push }} {{ autoescape }}",
    "{{ missing|default:'<none>' }} {{ "
    "missing|default_if_none:'x' }} {{ crawl.nothing|default:text }}",
    "{{ n|add:crawl.count }} {{ n|add:'4' }} {{ n|add:n|add:n }} {{ '<'|add:text }} {{ 'x'|safe }}",
    "{{ 3 }} {{ 2.5 }} {{ -1 }} {{ 'a<b' }} {{ True }} {{ yes }} "
    "{{ None }} {{ yes.real }} {{ n.real }}",
    "{% if crawl.missing %}a{% elif missing %}b{% elif n > 2 and 'some' in text %}c{% endif %}",
    "{% if missing is None %}none{% endif %}{% if crawl.gone %}a{% else %}b{% endif %}",
    "{% if missing.more|length > 3 %}a{% else %}b{% endif %}{% if 1 in sequence %}in{% endif %}",
    "{% for one in missing %}x{% empty %}empty{% endfor %}{% for "
    "a in both.items %}{{ a }}{% endfor %}",
    "{% for a, b in rows %}{{ forloop.counter }}{{ a }}{{ b }}{{ forloop.last }}{% endfor %}",
    "{% with a=crawl.count b=missing.x %}{{ a }}-{{ b }}{% endwith %}{{ a }}",
    "{% autoescape off %}{{ crawl.name }} {{ text }} {{ "
    "crawl.name|linebreaksbr }}{% endautoescape %}",
    "{{ crawl.name|linebreaksbr }} {{ crawl.name|truncatechars:4 }} {{ crawl.name|urlencode:'' }}",
    "{{ n|floatformat:2 }} {{ crawl.count|filesizeformat }} {{ "
    "n|pluralize }} {{ yes|yesno:'a,b' }}",
    "{% firstof missing crawl.name %} {% cycle 'a' crawl.name %} {% widthratio n 4 100 %}",
]


def both_of(source):
    return Template(source), QuickTemplate(source, engine=engines["django"].engine)


@pytest.mark.parametrize("source", SOURCES)
def test_a_template_says_what_djangos_says(source):
    with timezone.override("Europe/Vienna"):
        usual, quick = (one.render(Context(values())) for one in both_of(source))
    assert quick == usual


@pytest.mark.parametrize(
    "source", ["{{ crawl.broken }}", "{{ crawl.faulty }}", "{{ n|add:missing }}"]
)
def test_an_error_of_a_value_is_raised_as_by_django(source):
    raised = []
    for one in both_of(source):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            one.render(Context(values()))
        raised.append(type(caught.value))
    assert raised[0] is raised[1]


def test_templates_of_pages_are_of_this_kind():
    nodes = get_template("allocation/_pager.html").template.nodelist
    assert nodes.get_nodes_by_type(ExpressionNode)
