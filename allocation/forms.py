"""Forms for limits: one field a class. What they ask is shown first, as the bank would answer it, and done once confirmed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from django import forms

from allocation.errors import AllocationError
from allocation.models import Pool, Process, ResourceClass
from allocation.services import Preview, change_claim, preview_capacity, preview_claim, set_capacity
from allocation.wording import Measure

NO_NUMBER = "This must be a whole number of units, like 64; leave it as it was to change nothing."


class LimitsForm(forms.Form):
    """Edit one number a class; what the bank refuses stands beside the field it names."""

    def __init__(self, classes: list[ResourceClass], values: list[int], data: Any = None) -> None:
        super().__init__(data)
        self.old = {one.key: values[one.ordinal] for one in classes}
        self.names = {one.key: Measure(one.key, one.unit).name for one in classes}
        for one in classes:
            self.fields[one.key] = forms.IntegerField(
                min_value=0,
                max_value=2**31 - 1,
                initial=self.old[one.key],
                label=f"{self.names[one.key].capitalize()} ({one.unit})",
                help_text=f"{one.sentence} {self.help_on(one)}",
                error_messages={"invalid": NO_NUMBER, "required": NO_NUMBER},
                # A browser would throw away what was typed into a field of numbers, and turn it when the wheel is.
                widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
            )

    def changes(self) -> dict[str, tuple[int, int]]:
        """From and to, by class, of what is to change."""
        return {key: (self.old[key], self.cleaned_data[key]) for key in self.old if self.cleaned_data[key] != self.old[key]}

    def changes_by_name(self) -> list[tuple[str, int, int]]:
        """The same for people: name, from and to."""
        return [(self.names[key], old, new) for key, (old, new) in self.changes().items()]

    def new(self) -> dict[str, int]:
        return {key: to for key, (_, to) in self.changes().items()}

    def refuse(self, sentence: str, resource: object) -> None:
        """Put a refusal of the bank's where it belongs."""
        self.add_error(resource if isinstance(resource, str) and resource in self.fields else None, sentence)

    def apply(self) -> bool:
        """Ask the bank for the change. False if it refused; the error then stands in the form."""
        try:
            if self.new():
                self.make_change()
        except AllocationError as error:
            self.refuse(str(error), error.facts.get("resource"))
            return False
        return True

    @abstractmethod
    def help_on(self, one: ResourceClass) -> str:
        """What stands beside the field of a class."""

    @abstractmethod
    def preview(self) -> Preview:
        """What the bank would answer now."""

    @abstractmethod
    def make_change(self) -> None:
        """Ask for the change; raises AllocationError if it is refused."""


class CapacityForm(LimitsForm):
    """A pool's capacity by class."""

    def __init__(self, pool: Pool, data: Any = None) -> None:
        self.pool = pool
        super().__init__(list(pool.classes.all()), pool.capacity, data)

    def help_on(self, one: ResourceClass) -> str:
        return f"{self.pool.available[one.ordinal]:,} of {self.pool.capacity[one.ordinal]:,} are available."

    def preview(self) -> Preview:
        return preview_capacity(pool=self.pool.pk, capacity=self.new())

    def make_change(self) -> None:
        set_capacity(pool=self.pool.pk, capacity=self.new())


class ClaimForm(LimitsForm):
    """A process's claim (Max) by class."""

    def __init__(self, process: Process, data: Any = None) -> None:
        self.process = process
        super().__init__(list(process.pool.classes.all()), process.max_claim, data)

    def help_on(self, one: ResourceClass) -> str:
        return f"It holds {self.process.allocated[one.ordinal]:,}; the pool has {self.process.pool.capacity[one.ordinal]:,}."

    def preview(self) -> Preview:
        return preview_claim(process=self.process.pk, maximum=self.new())

    def make_change(self) -> None:
        change_claim(process=self.process.pk, maximum=self.new())
