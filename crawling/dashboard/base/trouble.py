"""How a page reports failed actions: by a message on the next page, or by a sentence beside a field
of the form, which keeps its input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest
from django.utils.text import capfirst
from redis.exceptions import RedisError

from crawling.base.errors import BadOrder

NO_QUEUE = "Redis does not answer, so no background job can be asked."


class ErrorHandler(AbstractContextManager[None, bool]):
    """A block that ends with an error of these kinds. The error is shown and not raised."""

    def __init__(self, kinds: tuple[type[Exception], ...], tell: Callable[[Exception], None]):
        self._kinds, self._tell = kinds, tell

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, self._kinds):
            return False
        self._tell(error)
        return True


def errors_told(request: HttpRequest, *kinds: type[Exception]) -> ErrorHandler:
    """Show errors of these kinds as messages."""

    def tell(error: Exception) -> None:
        messages.error(request, NO_QUEUE if isinstance(error, RedisError) else str(error))

    return ErrorHandler(kinds, tell)


def mistakes_kept(errors: dict[str, str], *others: type[Exception]) -> ErrorHandler:
    """Put the mistakes of an order into `errors`, by field, and errors of other kinds under
    `all`.
    """

    def tell(error: Exception) -> None:
        errors.update(error.errors if isinstance(error, BadOrder) else {"all": str(error)})

    return ErrorHandler((BadOrder, *others), tell)


def show_mistakes(form: Form, errors: Mapping[str, str]) -> None:
    """Put each sentence beside the field that it is about, or above all fields."""
    for field, sentence in errors.items():
        form.add_error(field if field in form.fields else None, capfirst(sentence))
