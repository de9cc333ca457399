"""The form for a pool's limits: one field a class."""

from __future__ import annotations

from typing import Any

from django import forms

from allocation.errors import AllocationError
from allocation.models import Pool
from allocation.services import set_capacity


class CapacityForm(forms.Form):
    """Edit a pool's capacity by class; what the bank refuses stands beside the field it names."""

    def __init__(self, pool: Pool, data: Any = None) -> None:
        super().__init__(data)
        self.pool = pool
        for one in pool.classes.all():
            self.fields[one.key] = forms.IntegerField(
                min_value=0,
                max_value=2**31 - 1,
                initial=pool.capacity[one.ordinal],
                label=f"{one.key} ({one.unit})",
                help_text=f"{one.sentence} {pool.available[one.ordinal]} of {pool.capacity[one.ordinal]} are available.",
            )

    def apply(self) -> bool:
        """Ask the bank for the change. False if it refused; the error then stands in the form."""
        changed = {key: self.cleaned_data[key] for key in self.changed_data}
        try:
            if changed:
                set_capacity(pool=self.pool.pk, capacity=changed)
        except AllocationError as error:
            key = error.facts.get("resource")
            self.add_error(key if isinstance(key, str) and key in self.fields else None, str(error))
            return False
        return True
