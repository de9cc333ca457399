"""Forms for limits.

A form first shows the pool's answer to the change. The change is made once it is confirmed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.text import capfirst

from allocation.errors import AllocationError, ClassKeyTaken
from allocation.models import Pool, Process, ResourceClass, Share
from allocation.rules.fairness import PRIORITIES, URGENT
from allocation.rules.shares import NO_LIMIT
from allocation.services import (
    LimitsPreview,
    NewClass,
    Override,
    PoolLimits,
    ProcessLimits,
    ShareLimits,
    add_resource_class,
    change_limits,
    change_process,
    change_share,
    preview_limits,
    preview_process,
    preview_share,
)
from allocation.unit_fields import MOST_UNITS, UnitsField
from allocation.wording import UnitWords


class LimitsForm(forms.Form):
    """Edits numbers by name. A refusal of the pool is shown beside the field with the refused
    number.
    """

    override_reason = forms.CharField(
        required=False,
        max_length=200,
        label="Why it must be all the same",
        help_text="Goes into the ledger and the audit log with your name, and onto every page "
        "until the state is safe again.",
    )

    def __init__(self, old: Mapping[str, int | None], data: Any = None) -> None:
        super().__init__(data)
        self.old = old
        self.names: dict[str, str] = {}

    def add_classes(
        self, classes: list[ResourceClass], likes: Sequence[int], help_on: list[str]
    ) -> None:
        """Add a field for each class. likes: an amount for each class; the field uses its unit."""
        for one, like, sentence in zip(classes, likes, help_on, strict=True):
            measure = UnitWords(one.key, one.unit)
            self.names[one.key] = measure.name
            self.fields[one.key] = UnitsField(
                measure,
                now=self.old[one.key],
                like=like,
                help_text=f"{one.sentence.removesuffix('.')}. {sentence}",
            )

    def numbers(self) -> list[forms.BoundField]:
        """The fields, except the reason for an override, which is asked for only if there is
        something to override.
        """
        return [field for field in self if field.name != "override_reason"]

    def changes(self) -> dict[str, tuple[int | None, int | None]]:
        """The old and the new number of each changed field; None for no limit."""
        return {
            key: (self.old[key], self.cleaned_data[key])
            for key in self.old
            if self.cleaned_data[key] != self.old[key]
        }

    def changes_by_name(self) -> list[tuple[str, str, str]]:
        return [
            (
                self.names.get(name) or str(self[name].label).lower(),
                _fact_in_words(old, _measure_of_field(self.fields[name])),
                _fact_in_words(new, _measure_of_field(self.fields[name])),
            )
            for name, (old, new) in self.changes().items()
        ]

    def new_limits(self) -> dict[str, int]:
        return {key: to for key, (_, to) in self.changes().items() if to is not None}

    def show_refusal(self, error: AllocationError) -> None:
        """Show an error at the field of its resource, or above all fields if it has no resource."""
        resource = error.facts.get("resource")
        measures = filter(None, map(_measure_of_field, self.fields.values()))
        measure = next((one for one in measures if one.key == resource), None)
        field = resource if isinstance(resource, str) and resource in self.fields else None
        known = (resource, self.cleaned_data.get(field)) if field else ()
        told = [
            f"{name.replace('_', ' ')}: {_fact_in_words(fact, measure)}"
            for name, fact in error.facts.items()
            if fact not in known
        ]
        tail = f" {capfirst(', '.join(told))}." if told else ""
        self.add_error(field, f"{error.message}{tail}")

    def apply(self, override: Override | None) -> bool:
        """Request the change from the pool. Return False if the pool refuses; the form then shows
        the error.
        """
        try:
            if self.changes():
                self.make_change(override)
        except AllocationError as error:
            self.show_refusal(error)
            return False
        return True

    @abstractmethod
    def preview(self) -> LimitsPreview:
        """The answer that the pool would give at the moment."""

    @abstractmethod
    def make_change(self, override: Override | None) -> None:
        """Request the change from the pool. Raises AllocationError if the pool refuses."""


def _measure_of_field(field: forms.Field) -> UnitWords | None:
    return field.unit_words if isinstance(field, UnitsField) else None


def _fact_in_words(fact: object, measure: UnitWords | None) -> str:
    """A number of units, a name, or None for no limit, in words."""
    if isinstance(fact, int):
        return measure.number(fact) if measure else f"{fact:,}"
    return "no limit" if fact is None else str(fact)


class PoolForm(LimitsForm):
    def __init__(self, pool: Pool, old: dict[str, int], data: Any = None) -> None:
        self.pool = pool
        super().__init__(old, data)

    @abstractmethod
    def limits(self) -> PoolLimits:
        """The changed limits."""

    def preview(self) -> LimitsPreview:
        return preview_limits(pool=self.pool.pk, limits=self.limits())

    def make_change(self, override: Override | None) -> None:
        change_limits(pool=self.pool.pk, limits=self.limits(), override=override)


class CapacityForm(PoolForm):
    def __init__(self, pool: Pool, data: Any = None) -> None:
        classes = list(pool.classes.all())
        super().__init__(pool, {one.key: pool.capacity[one.ordinal] for one in classes}, data)
        parts = [
            UnitWords(one.key, one.unit).part(
                pool.available[one.ordinal], pool.capacity[one.ordinal]
            )
            for one in classes
        ]
        self.add_classes(classes, pool.capacity, [f"Available: {part}." for part in parts])

    def limits(self) -> PoolLimits:
        return PoolLimits(capacity=self.new_limits())


class TurnsForm(PoolForm):
    """A pool's rules for turns: the bypass limit, and the units reserved for urgent starts."""

    LIMIT = "bypass.limit"  # a dot, since no key of a class contains one

    def __init__(self, pool: Pool, data: Any = None) -> None:
        classes = list(pool.classes.all())
        super().__init__(
            pool,
            {self.LIMIT: pool.bypass_limit}
            | {one.key: pool.reserved[one.ordinal] for one in classes},
            data,
        )
        self.fields[self.LIMIT] = forms.IntegerField(
            min_value=0,
            max_value=10_000,
            initial=pool.bypass_limit,
            label="Bypass limit",
            help_text="How often the first in line may be passed by processes that hold "
            "nothing. Processes with units may always pass.",
        )
        capacities = [
            UnitWords(one.key, one.unit).number(pool.capacity[one.ordinal]) for one in classes
        ]
        self.add_classes(
            classes,
            pool.capacity,
            [f"Left to urgent starts (priority {URGENT}) out of {all_}." for all_ in capacities],
        )

    def limits(self) -> PoolLimits:
        new = self.new_limits()
        limit = new.pop(self.LIMIT, None)
        return PoolLimits(reserved=new, bypass_limit=limit)


class ShareForm(LimitsForm):
    RESERVE, LIMIT = "reserve.", "limit."  # a dot, since no key of a class contains one

    def __init__(self, share: Share, data: Any = None) -> None:
        self.share = share
        classes = list(share.pool.classes.all())
        old: dict[str, int | None] = {}
        for one in classes:
            limit = share.limits[one.ordinal]
            old[self.RESERVE + one.key] = share.reserved[one.ordinal]
            old[self.LIMIT + one.key] = None if limit == NO_LIMIT else limit
        super().__init__(old, data)
        for one in classes:
            measure, capacity = UnitWords(one.key, one.unit), share.pool.capacity[one.ordinal]
            of = f"of {measure.number(capacity)}"
            for name, words, sentence in (
                (self.RESERVE, "reserve", f"Set aside for the team, {of}."),
                (
                    self.LIMIT,
                    "limit",
                    f"At most for all its running processes together, {of}. Empty: no limit.",
                ),
            ):
                self.names[name + one.key] = f"{measure.name}: {words}"
                self.fields[name + one.key] = UnitsField(
                    measure,
                    now=self.old[name + one.key],
                    like=capacity,
                    name=self.names[name + one.key],
                    required=name == self.RESERVE,
                    help_text=sentence,
                )

    def limits(self) -> ShareLimits:
        new = {name: to for name, (_, to) in self.changes().items()}
        return ShareLimits(
            {key: units or 0 for key, units in _numbers_by_prefix(new, self.RESERVE).items()},
            _numbers_by_prefix(new, self.LIMIT),
        )

    def preview(self) -> LimitsPreview:
        return preview_share(share=self.share.pk, limits=self.limits())

    def make_change(self, override: Override | None) -> None:
        change_share(share=self.share.pk, limits=self.limits())


def _numbers_by_prefix(new: dict[str, int | None], prefix: str) -> dict[str, int | None]:
    return {name.removeprefix(prefix): n for name, n in new.items() if name.startswith(prefix)}


class ProcessForm(LimitsForm):
    def __init__(self, process: Process, old: dict[str, int], data: Any = None) -> None:
        self.process = process
        super().__init__(old, data)

    @abstractmethod
    def limits(self) -> ProcessLimits:
        """The changed limits."""

    def preview(self) -> LimitsPreview:
        return preview_process(process=self.process.pk, limits=self.limits())

    def make_change(self, override: Override | None) -> None:
        change_process(process=self.process.pk, limits=self.limits(), override=override)


class ClaimForm(ProcessForm):
    def __init__(self, process: Process, data: Any = None) -> None:
        pool, classes = process.pool, list(process.pool.classes.all())
        super().__init__(
            process, {one.key: process.max_claim[one.ordinal] for one in classes}, data
        )
        told = [
            (
                UnitWords(one.key, one.unit),
                process.allocated[one.ordinal],
                pool.capacity[one.ordinal],
            )
            for one in classes
        ]
        self.add_classes(
            classes,
            pool.capacity,
            [
                f"Held: {measure.number(held)}; in the pool: {measure.number(most)}."
                for measure, held, most in told
            ],
        )

    def limits(self) -> ProcessLimits:
        return ProcessLimits(maximum=self.new_limits())


class PriorityForm(ProcessForm):
    priority = forms.IntegerField(
        min_value=PRIORITIES[0],
        max_value=PRIORITIES[-1],
        help_text=f"From {PRIORITIES[0]} to {PRIORITIES[-1]}. Each step is worth a minute of "
        f"waiting; {URGENT} is urgent, and may take "
        "what is reserved for urgent work. Once a process holds something, its turn no longer "
        "matters.",
    )

    def __init__(self, process: Process, data: Any = None) -> None:
        super().__init__(process, {"priority": process.priority}, data)
        self.fields["priority"].initial = process.priority

    def limits(self) -> ProcessLimits:
        return ProcessLimits(priority=self.new_limits().get("priority"))


class NewClassForm(LimitsForm):
    key = forms.SlugField(
        max_length=40,
        help_text="How requests and claims name it, such as gpu_slots. It can't be changed later.",
    )
    unit = forms.CharField(max_length=40, help_text="One unit of it, such as MiB.")
    sentence = forms.CharField(max_length=300, help_text="Its purpose, in a sentence.")
    capacity = forms.IntegerField(
        min_value=0,
        max_value=MOST_UNITS,
        help_text="Units that exist. No process claims units of it yet.",
    )

    def __init__(self, pool: Pool, data: Any = None) -> None:
        self.pool = pool
        super().__init__({}, data)

    def changes(self) -> dict[str, tuple[int | None, int | None]]:
        return {self.cleaned_data["key"]: (0, self.cleaned_data["capacity"])}

    def changes_by_name(self) -> list[tuple[str, str, str]]:
        return [
            (f"{UnitWords(key, '').name} (new)", f"{before:,}", f"{after:,}")
            for key, (before, after) in self.changes().items()
        ]

    def preview(self) -> LimitsPreview:
        return LimitsPreview(ClassKeyTaken()) if self._is_key_taken() else LimitsPreview()

    def make_change(self, override: Override | None) -> None:
        add_resource_class(
            pool=self.pool.pk,
            new=NewClass(
                **{
                    name: self.cleaned_data[name]
                    for name in ("key", "unit", "sentence", "capacity")
                }
            ),
        )

    def _is_key_taken(self) -> bool:
        return self.pool.classes.filter(key=self.cleaned_data["key"]).exists()


class NewPoolForm(forms.Form):
    """The name of a pool, and its capacity in each class of the oldest pool."""

    CAPACITY = "capacity."
    name = forms.CharField(max_length=100, help_text="Crawls choose it by this name, permanently.")

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        oldest = Pool.objects.order_by("pk").first()
        if oldest is None:
            return
        for one in oldest.classes.all():
            self.fields[self.CAPACITY + one.key] = UnitsField(
                UnitWords(one.key, one.unit),
                now=None,
                like=oldest.capacity[one.ordinal],
                help_text=one.sentence,
            )

    def capacity(self) -> dict[str, int]:
        given = self.cleaned_data.items()
        return {
            name.removeprefix(self.CAPACITY): units
            for name, units in given
            if name.startswith(self.CAPACITY)
        }
