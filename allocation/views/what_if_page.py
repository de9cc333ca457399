"""The data of the what-if page: the fields as typed, each with its mistake, the matrix, and the
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from allocation.models import Pool
from allocation.rules.banker import minus
from allocation.whatif.draft import Draft, tokens
from allocation.whatif.draft_reading import BadDraft, FieldFault, read_request
from allocation.whatif.examples import EXAMPLES
from allocation.whatif.links import LinkTooLong, SharedState, to_link
from allocation.whatif.sandbox import Sandbox
from allocation.whatif.view_models import CheckView, judge, matrix
from allocation.wording import whole_number


@dataclass(frozen=True)
class WhatIfView:
    """The data of the what-if page."""

    draft: Draft
    #: None while the draft is no state
    sandbox: Sandbox | None = None
    faults: tuple[FieldFault, ...] = ()
    #: whether the draft's request is to be answered
    asks: bool = False
    shared: SharedState | None = None
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A field of the form: its id, its text, and its mistakes."""

    id: str
    text: str
    fault: str

    @property
    def of(self) -> str:
        """How other fields say that they belong to the thing named here."""
        return f"of {self.text}"


def shown(request: HttpRequest, page: WhatIfView, *, status: int = 200) -> HttpResponse:
    """The page, with a mistake beside each field that has one."""
    faults = {fault.field: fault.sentence for fault in reversed(page.faults)}
    context: dict[str, object] = {
        "page": page,
        "classes": _classes(page.draft, faults),
        "rows": _rows(page.draft, faults),
        "process_fault": faults.get("process", ""),
        "request_cell": Cell("request", page.draft.request, faults.get("request", "")),
        "file_fault": faults.get("file", ""),
        "examples": EXAMPLES.values(),
        "pools": Pool.objects.order_by("name"),
    }
    if page.sandbox is not None:
        units = zip(
            page.sandbox.classes, page.sandbox.state.available, page.sandbox.total, strict=True
        )
        context |= {
            "matrix": matrix(page.sandbox),
            "units": list(units),
            "result": _result(page, page.sandbox),
        }
        context["link"] = _link(request, page.shared or SharedState(page.sandbox))
    return render(request, "allocation/what_if.html", context, status=status)


def _result(page: WhatIfView, sandbox: Sandbox) -> CheckView:
    if page.asks:
        try:
            return judge(sandbox, *read_request(page.draft, sandbox))
        except BadDraft:  # a link may carry a request of nothing
            return judge(sandbox)
    return judge(sandbox)


def _link(request: HttpRequest, shared: SharedState) -> str:
    """Where the state can be found again; empty if it is too large for a link."""
    try:
        return request.build_absolute_uri(f"{reverse('allocation:what_if')}?s={to_link(shared)}")
    except LinkTooLong:
        return ""


def _classes(draft: Draft, faults: Mapping[str, str]) -> list[tuple[Cell, Cell]]:
    names = [(f"class-{j}-name", one.name) for j, one in enumerate(draft.classes)]
    units = [(f"class-{j}-units", one.units) for j, one in enumerate(draft.classes)]
    return [
        (_cell(*name, faults), _cell(*number, faults))
        for name, number in zip(names, units, strict=True)
    ]


def _rows(draft: Draft, faults: Mapping[str, str]) -> list[tuple[Cell, Cell, Cell, str]]:
    """Name, Max and Allocation of each process as typed, and Need as it follows."""
    return [
        (
            _cell(f"process-{i}-name", row.name, faults),
            _cell(f"process-{i}-maximum", row.maximum, faults),
            _cell(f"process-{i}-allocation", row.allocation, faults),
            _need(row.maximum, row.allocation),
        )
        for i, row in enumerate(draft.rows)
    ]


def _cell(field: str, text: str, faults: Mapping[str, str]) -> Cell:
    return Cell(field, text, faults.get(field, ""))


def _need(maximum: str, allocation: str) -> str:
    """Max - Allocation, where both are numbers; else empty."""
    most, held = tokens(maximum), tokens(allocation)
    if len(most) != len(held) or any(
        whole_number(text, most_digits=10) is None for text in (*most, *held)
    ):
        return ""
    need = minus(tuple(map(int, most)), tuple(map(int, held)))
    return " ".join(map(str, need)) if min(need, default=0) >= 0 else ""
