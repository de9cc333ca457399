"""PostgreSQL expressions that the models and their constraints use."""

from __future__ import annotations

from django.db import models


class Within(models.Func):
    """Whether every entry of the first array is at most that of the second.

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
    """Whether some entry of the array is above 0."""

    template = "0 < ANY(%(expressions)s)"
    arity = 1
    output_field = models.BooleanField()


class ClockTimestamp(models.Func):
    """The database's clock now.

    `now()` would be the start of the transaction, stale after a wait for a lock.
    """

    function = "clock_timestamp"
    arity = 0
    output_field = models.DateTimeField()


class NextNumber(models.Func):
    """The next number of a sequence, named by the argument."""

    function = "nextval"
    arity = 1
    output_field = models.BigIntegerField()
