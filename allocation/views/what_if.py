"""The what-if page: users enter a state or copy a live one, check it, make requests, and change it
(SEEDS P1). Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from allocation.errors import UnknownPool
from allocation.models import Pool
from allocation.pool_copy import copy_of
from allocation.rules.banker import minus
from allocation.whatif.draft import (
    BadDraft,
    Draft,
    FieldFault,
    draft_of,
    read_draft,
    read_draft_fields,
    read_request,
    tokens,
)
from allocation.whatif.examples import EXAMPLES
from allocation.whatif.moves import WhatIfMove, make_move
from allocation.whatif.sandbox import Sandbox
from allocation.whatif.view_models import CheckView, check_sandbox, matrix_lines
from allocation.wording import first_few_in_words, whole_number
from serving.access import AuthenticatedRequest, authenticated

#: the processes of a page that shows all at once
MOST_UNFOLDED = 8
#: the initial state without a request
BLANK = Draft().add_classes(3).add_processes(2)


@dataclass(frozen=True)
class WhatIfView:
    draft: Draft
    #: the state; None while the draft is no valid state
    sandbox: Sandbox | None = None
    faults: tuple[FieldFault, ...] = ()
    #: whether the draft's request is to be answered
    asks: bool = False
    note: str = ""
    #: the id of the element to show; empty for the top of the page
    at: str = ""


@dataclass(frozen=True)
class Cell:
    id: str
    text: str
    fault: str

    @property
    def of(self) -> str:
        """The words by which the labels of other fields refer to this field."""
        return f"of {self.text}"


def render_what_if(request: HttpRequest, page: WhatIfView) -> HttpResponse:
    faults = {fault.field: fault.sentence for fault in reversed(page.faults)}
    names_process = any(field.startswith("process-") for field in faults)
    context: dict[str, object] = {
        "page": page,
        "classes": _class_cells(page.draft, faults),
        "rows": _process_cells(page.draft, faults),
        "folds": len(page.draft.rows) > MOST_UNFOLDED,
        "processes_open": page.at.startswith("process") or names_process,
        "process_fault": faults.get("process", ""),
        "request_cell": Cell("request", page.draft.request, faults.get("request", "")),
        "examples": EXAMPLES.values(),
        "pools": Pool.objects.filter(is_experiment=False).order_by("name"),
    }
    if page.sandbox is not None:
        units = zip(
            page.sandbox.classes, page.sandbox.state.available, page.sandbox.total, strict=True
        )
        context |= {
            "matrix": matrix_lines(page.sandbox),
            "units": list(units),
            "result": _check_of_page(page, page.sandbox),
        }
    return render(request, "allocation/what_if.html", context)


def _check_of_page(page: WhatIfView, sandbox: Sandbox) -> CheckView:
    return (
        check_sandbox(sandbox, *read_request(page.draft, sandbox))
        if page.asks
        else check_sandbox(sandbox)
    )


def _class_cells(draft: Draft, faults: Mapping[str, str]) -> list[tuple[Cell, Cell]]:
    names = [(f"class-{j}-name", one.name) for j, one in enumerate(draft.classes)]
    units = [(f"class-{j}-units", one.units) for j, one in enumerate(draft.classes)]
    return [
        (_cell(*name, faults), _cell(*number, faults))
        for name, number in zip(names, units, strict=True)
    ]


def _process_cells(draft: Draft, faults: Mapping[str, str]) -> list[tuple[Cell, Cell, Cell, str]]:
    """Name, Max and Allocation of each process as typed, and the resulting Need."""
    return [
        (
            _cell(f"process-{i}-name", row.name, faults),
            _cell(f"process-{i}-maximum", row.maximum, faults),
            _cell(f"process-{i}-allocation", row.allocation, faults),
            _need_text(row.maximum, row.allocation),
        )
        for i, row in enumerate(draft.rows)
    ]


def _cell(field: str, text: str, faults: Mapping[str, str]) -> Cell:
    return Cell(field, text, faults.get(field, ""))


def _need_text(maximum: str, allocation: str) -> str:
    """Max - Allocation if both are numbers; otherwise empty."""
    most, held = tokens(maximum), tokens(allocation)
    if len(most) != len(held) or any(
        whole_number(text, most_digits=10) is None for text in (*most, *held)
    ):
        return ""
    need = minus(tuple(map(int, most)), tuple(map(int, held)))
    return " ".join(map(str, need)) if min(need, default=0) >= 0 else ""


@authenticated(needs="allocation.view_pool", methods=("GET", "HEAD", "POST"))
def what_if(request: AuthenticatedRequest) -> HttpResponse:
    """Show an empty state, the state of a pool, or an example. On a POST, make the move of a button
    on the sent state.
    """
    return _answer_move(request) if request.method == "POST" else _open_page(request)


def _open_page(request: HttpRequest) -> HttpResponse:
    if "pool" in request.GET:
        return _open_copy(request, request.GET["pool"])
    if example := EXAMPLES.get(request.GET.get("example", "")):
        move = WhatIfMove(example.sandbox, example.process, example.request)
        return render_what_if(
            request, _what_if_view(move, note=f"{example.title}. {example.sentence}")
        )
    return render_what_if(request, WhatIfView(BLANK, sandbox=read_draft(BLANK)))


def _open_copy(request: HttpRequest, number: str) -> HttpResponse:
    try:
        copy = copy_of(whole_number(number) or 0)
    except UnknownPool as error:
        raise Http404(str(error)) from error
    note = (
        f"A copy of {copy.name} as it stood just now. Whatever you do here changes nothing there."
    )
    if copy.left_out:
        note += (
            " Not copied, as no safety depends on them: "
            f"{first_few_in_words([process.label for process in copy.left_out])}."
        )
    return render_what_if(request, _what_if_view(WhatIfMove(copy.in_words), note=note))


def _answer_move(request: HttpRequest) -> HttpResponse:
    draft = read_draft_fields(dict(request.POST.lists()))
    verb, _, place = request.POST.get("do", "check").partition(":")
    try:
        move = make_move(
            draft,
            verb,
            place=_number_in_button(place),
            count=_number_in_button(request.POST.get(f"{verb}-count", "1")),
        )
    except BadDraft as error:
        typed = error.draft or draft
        return render_what_if(
            request, WhatIfView(typed, sandbox=_state_of_draft(typed), faults=error.faults)
        )
    if move.told:
        messages.success(request, move.told)
    return render_what_if(request, _what_if_view(move, by_total=draft.by_total))


def _state_of_draft(draft: Draft) -> Sandbox | None:
    """The state, if only the request has mistakes."""
    try:
        return read_draft(draft)
    except BadDraft:
        return None


def _what_if_view(move: WhatIfMove, *, by_total: bool = False, note: str = "") -> WhatIfView:
    draft = draft_of(move.sandbox, by_total=by_total, process=move.process, request=move.request)
    return WhatIfView(draft, sandbox=move.sandbox, asks=move.asks, note=note, at=move.at)


def _number_in_button(text: str) -> int:
    """The number in a button or next to it. Any other text counts as 1, and a larger number as the
    maximum.
    """
    number = whole_number(text, most_digits=9)
    return 1 if number is None else number
