"""Tags of every template: no template has to load them."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from html import escape
from typing import Any

from django import template
from django.conf import settings
from django.contrib.humanize.templatetags import humanize
from django.http import HttpRequest
from django.template import defaulttags
from django.template.base import FilterExpression, Parser, Token
from django.template.context import Context
from django.urls import NoReverseMatch, get_script_prefix, get_urlconf, reverse
from django.utils import timezone
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from serving.paging import BoundedCount

register = template.Library()
#: the number of addresses that are kept: as many as a hundred long lists have
ADDRESSES = 10_000
#: from here on a distance is shown in whole days
NEARLY_A_DAY = timedelta(hours=23, minutes=30)


@register.simple_tag
def time_ago(at: datetime | None) -> SafeString | str:
    """A time as its distance from now, with the exact time on hover and for programs; a dash for
    None.
    """
    return time_at(at, _distance_in_words(at)) if at else "–"


@register.simple_tag
def time_at(at: datetime, words: str) -> SafeString:
    """A moment in these words, with the exact time on hover and for programs."""
    local = timezone.localtime(at)
    iso = local.isoformat()
    # the value has only letters, digits and signs of a time zone
    return mark_safe(  # noqa: S308
        f'<time datetime="{iso}"\n  title="{iso[:10]} {iso[11:19]} '
        f'{escape(local.tzname() or "")}">{escape(words)}</time>'
    )


def _distance_in_words(at: datetime) -> str:
    """A distance in words. Days are rounded and have their date, so that a time a week from now is
    not shown as six days and 23 hours.
    """
    ahead = at - timezone.now()
    if abs(ahead) < NEARLY_A_DAY:
        return str(humanize.naturaltime(at))
    days = round(ahead / timedelta(days=1))
    count = f"{abs(days)} day{'s' if abs(days) > 1 else ''}"
    return f"{count} {'from now' if days > 0 else 'ago'}, {timezone.localdate(at):%Y-%m-%d}"


@register.filter(is_safe=True)
def intcomma(number: Any) -> str:
    """A number with commas between its thousands: like Django's filter, which also handles all
    languages. The plus sign of a count that was stopped at its limit is kept.
    """
    return f"{number:,}" if type(number) in (int, BoundedCount) else str(humanize.intcomma(number))


@register.tag
def url(parser: Parser, token: Token) -> defaulttags.URLNode:
    """Django's tag, but each address is looked up only once, since each row of a list has
    several.
    """
    node = defaulttags.url(parser, token)
    return _UrlNode(node.view_name, node.args, node.kwargs, node.asvar)


class _UrlNode(defaulttags.URLNode):
    view_name: FilterExpression

    def render(self, context: Context) -> str:
        arguments = [argument.resolve(context) for argument in self.args]
        named = {name: value.resolve(context) for name, value in self.kwargs.items()}
        # Values of other types may be equal and yet have different addresses: 1, 1.0 and True.
        if any(type(one) not in (int, str) for one in (*arguments, *named.values())):
            return str(super().render(context))
        try:
            address = _reversed_address(
                (get_urlconf() or settings.ROOT_URLCONF, get_script_prefix()),
                _current_application(getattr(context, "request", None)),
                self.view_name.resolve(context),
                tuple(arguments),
                tuple(named.items()),
            )
        except NoReverseMatch:
            if self.asvar is None:
                raise
            address = ""
        if self.asvar:
            context[self.asvar] = address
            return ""
        return str(conditional_escape(address)) if context.autoescape else address


def _current_application(request: HttpRequest | None) -> str | None:
    match = getattr(request, "resolver_match", None)
    return getattr(request, "current_app", getattr(match, "namespace", None))


@lru_cache(ADDRESSES)
def _reversed_address(
    _of: tuple[str, str],
    application: str | None,
    view: str,
    arguments: tuple[Any, ...],
    named: tuple[tuple[str, Any], ...],
) -> str:
    """The address of a view, by the present configuration of addresses and behind the prefix.
    Raises NoReverseMatch.
    """
    return reverse(view, args=arguments, kwargs=dict(named), current_app=application)
