"""PostgreSQL expressions that the models and their constraints use."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Cast, Coalesce, NullIf


class Within(models.Func):
    """Whether each entry of the first array is at most the entry of the second at the same place.

    PostgreSQL's own `<=` compares arrays lexicographically: `{1,9} <= {2,0}` is true.
    """

    function = "allocation_within"
    arity = 2
    output_field = models.BooleanField()


class Natural(models.Func):
    """Whether no entry of the array is negative."""

    template = "0 <= ALL(%(expressions)s)"
    arity = 1
    output_field = models.BooleanField()


class AnyUnit(models.Func):
    """Whether any entry of the array is above 0."""

    template = "0 < ANY(%(expressions)s)"
    arity = 1
    output_field = models.BooleanField()


def run_reference(process: str = "") -> Coalesce:
    """The part of a process's reference that all processes of its run share; without a reference,
    the id of the process.

    process: the prefix of the process's fields.
    """
    kept = models.Value(r"^([^/]*/[^/]*)/.*$"), models.Value(r"\1")
    text = models.TextField()
    reference = models.F(f"{process}run_ref")
    shared = models.Func(reference, *kept, function="regexp_replace", output_field=text)
    named = NullIf(shared, models.Value(""), output_field=text)
    return Coalesce(named, Cast(f"{process}pk", text))


class ClockTimestamp(models.Func):
    """The current time by the database's clock.

    `now()` would be the start of the transaction, which is too early after a wait for a lock.
    """

    function = "clock_timestamp"
    arity = 0
    output_field = models.DateTimeField()


class NextNumber(models.Func):
    """The next number of the sequence that the argument names."""

    function = "nextval"
    arity = 1
    output_field = models.BigIntegerField()
