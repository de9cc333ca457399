"""The what-if page: make up a state or copy a live one, check it, request, and let it move on
(SEEDS P1). Nothing is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from allocation.errors import UnknownPool
from allocation.models import Pool
from allocation.pool_copy import copy_of
from allocation.rules.banker import minus
from allocation.whatif.draft import (
    BadDraft,
    Draft,
    FieldFault,
    draft_from,
    draft_of,
    read_draft,
    read_request,
    tokens,
)
from allocation.whatif.examples import EXAMPLES
from allocation.whatif.files import MOST_BYTES, BadFile, read_file, to_csv, to_json
from allocation.whatif.links import BadLink, LinkTooLong, SharedState, from_link, to_link
from allocation.whatif.moves import WhatIfMove, make_move
from allocation.whatif.sandbox import Sandbox
from allocation.whatif.view_models import CheckView, judge, matrix
from allocation.wording import some, whole_number
from serving.access import AuthenticatedRequest, authenticated

#: the initial state without a request
BLANK = Draft().add_classes(3).add_processes(2)
FILES = {"json": (to_json, "application/json"), "csv": (to_csv, "text/csv; charset=utf-8")}


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
        "pools": Pool.objects.filter(is_experiment=False).order_by("name"),
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


@authenticated(needs="allocation.view_pool", methods=("GET", "HEAD", "POST"))
def what_if(request: AuthenticatedRequest) -> HttpResponse:
    """Show the state of the link, of a pool, or of an example; or make the move that a button
    stands for.
    """
    return _move(request) if request.method == "POST" else _open(request)


def _open(request: HttpRequest) -> HttpResponse:
    by_total = request.GET.get("by") == "total"
    if "s" in request.GET:
        try:
            shared = from_link(request.GET["s"])
        except BadLink as error:
            return shown(
                request, WhatIfView(BLANK, faults=(FieldFault("", str(error)),)), status=400
            )
        return shown(request, _page(shared, by_total=by_total, asks="ask" in request.GET))
    if "pool" in request.GET:
        return _copied(request, request.GET["pool"])
    if example := EXAMPLES.get(request.GET.get("example", "")):
        page = _page(
            SharedState(example.sandbox, example.process, example.request), by_total=by_total
        )
        return shown(request, replace(page, note=f"{example.title}. {example.sentence}"))
    return shown(request, WhatIfView(BLANK, sandbox=read_draft(BLANK)))


def _copied(request: HttpRequest, number: str) -> HttpResponse:
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
            f"{some([process.label for process in copy.left_out])}."
        )
    return shown(request, replace(_page(SharedState(copy.sandbox)), note=note))


def _move(request: HttpRequest) -> HttpResponse:
    draft = draft_from(dict(request.POST.lists()))
    verb, _, place = request.POST.get("do", "check").partition(":")
    try:
        if verb == "import":
            return _lead_to(
                request, WhatIfMove(SharedState(_imported(request))), by_total=draft.by_total
            )
        if verb in FILES:
            return _file(draft, verb)
        move = make_move(
            draft, verb, place=_number(place), count=_number(request.POST.get(f"{verb}-count", "1"))
        )
    except BadDraft as error:
        typed = error.draft or draft
        return shown(request, WhatIfView(typed, sandbox=_readable(typed), faults=error.faults))
    return _lead_to(request, move, by_total=draft.by_total)


def _readable(draft: Draft) -> Sandbox | None:
    """The state, if only the request or a file is at fault."""
    try:
        return read_draft(draft)
    except BadDraft:
        return None


def _lead_to(request: HttpRequest, move: WhatIfMove, *, by_total: bool) -> HttpResponse:
    """To the address of the state, so that it can be reloaded, gone back to and sent; a state too
    large for one is shown here.
    """
    if move.told:
        messages.success(request, move.told)
    try:
        query = (
            {"s": to_link(move.shared)}
            | ({"by": "total"} if by_total else {})
            | ({"ask": "1"} if move.asks else {})
        )
    except LinkTooLong:
        return shown(request, _page(move.shared, by_total=by_total, asks=move.asks))
    return redirect(f"{reverse('allocation:what_if')}?{urlencode(query)}{move.anchor}")


def _page(shared: SharedState, *, by_total: bool = False, asks: bool = False) -> WhatIfView:
    draft = draft_of(
        shared.sandbox, by_total=by_total, process=shared.process, request=shared.request
    )
    return WhatIfView(
        draft,
        sandbox=shared.sandbox,
        asks=asks and bool(shared.process) and shared.request is not None,
        shared=shared,
    )


def _imported(request: HttpRequest) -> Sandbox:
    file = request.FILES.get("file")
    if file is None:
        raise BadDraft(
            [
                FieldFault(
                    "file", "No file was chosen. Choose one that was exported here, JSON or CSV."
                )
            ]
        )
    try:
        return read_file(file.read(MOST_BYTES + 1))
    except BadFile as error:
        raise BadDraft([FieldFault("file", f"{file.name}: {error}")]) from error


def _file(draft: Draft, form: str) -> HttpResponse:
    write, kind = FILES[form]
    headers = {"Content-Disposition": f'attachment; filename="what-if.{form}"'}
    return HttpResponse(write(read_draft(draft)), content_type=kind, headers=headers)


def _number(text: str) -> int:
    """A number in a button or beside it; anything else counts as 1, and too many are as many as
    there may be.
    """
    number = whole_number(text, most_digits=9)
    return 1 if number is None else number
