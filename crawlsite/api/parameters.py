"""Parameters of queries: one that an endpoint does not have is refused, as an unknown field is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from django.http import HttpRequest

from crawling.errors import BadOrder


def known_parameters_only(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """A parameter that would be ignored, such as a misspelt filter, would give rows that were not
    asked for.
    """
    known = {_name(one) for one in list(signature(endpoint).parameters.values())[1:]}

    @wraps(endpoint)
    def checked(request: HttpRequest, *args: Any, **values: Any) -> Any:
        if unknown := sorted(request.GET.keys() - known):
            sentence = "is not known here; leave it out"
            raise BadOrder(dict.fromkeys(unknown, sentence))
        return endpoint(request, *args, **values)

    return checked


def _name(parameter: Parameter) -> str:
    """As a program writes it: its alias, if it has one."""
    told = getattr(parameter.annotation, "__metadata__", ())
    aliases = (alias for one in told if (alias := getattr(one, "alias", None)))
    return next(aliases, parameter.name)
