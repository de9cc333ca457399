"""The actions of the page's buttons. Each leads from one typed state to the next. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from allocation.rules.banker import Vector
from allocation.whatif.draft import BadDraft, Draft, FieldFault, read_draft, read_request
from allocation.whatif.sandbox import Sandbox
from allocation.whatif.view_models import check_sandbox
from allocation.wording import joined_in_words


@dataclass(frozen=True)
class WhatIfMove:
    """The result of a move: the state after it, with the process and amounts of a request. Without
    a request, an empty name and None.
    """

    sandbox: Sandbox
    process: str = ""
    request: Vector | None = None
    #: whether the request is to be answered
    asks: bool = False
    #: the action in words
    told: str = ""
    #: the id of the element to show
    at: str = ""


def make_move(draft: Draft, verb: str, *, place: int, count: int) -> WhatIfMove:
    """Do the action of the button `verb`.

    Raises BadDraft if the input does not allow the action; the input is kept.
    """
    if verb in ("add-class", "add-process", "remove-class", "remove-process"):
        return _resize_draft(draft, verb, place, count)
    if verb == "stop":
        return _unchanged_move(replace(draft, request=""), at="request-area")
    if verb == "finish":
        return _finish_process(draft)
    if verb not in ("request", "apply", "release"):
        return _unchanged_move(draft, at="result")
    sandbox = read_draft(draft)
    process, amounts = read_request(draft, sandbox)
    if verb == "request":
        return WhatIfMove(sandbox, draft.process, amounts, asks=True, at="result")
    if verb == "release":
        return _release_units(draft, sandbox, process, amounts)
    return _grant_request(draft, sandbox, process, amounts)


def _resize_draft(draft: Draft, verb: str, place: int, count: int) -> WhatIfMove:
    if verb == "add-class":
        at, after = f"class-{len(draft.classes)}-name", draft.add_classes(count)
    elif verb == "add-process":
        at, after = f"process-{len(draft.rows)}-name", draft.add_processes(count)
    elif verb == "remove-class":
        at, after = "classes", draft.without_class(place)
    else:
        at, after = "processes", draft.without_process(place)
    return _unchanged_move(after, at=at)


def _finish_process(draft: Draft) -> WhatIfMove:
    sandbox = read_draft(draft)
    if draft.process not in sandbox.processes:
        raise BadDraft([FieldFault("process", "Who finishes? Choose a process.")])
    after = sandbox.finish(sandbox.processes.index(draft.process))
    return WhatIfMove(
        after,
        told=f"{draft.process} gave back all that it held, and left.",
        at="state",
    )


def _release_units(draft: Draft, sandbox: Sandbox, process: int, amounts: Vector) -> WhatIfMove:
    try:
        after = sandbox.release(process, amounts)
    except ValueError as error:
        raise BadDraft([FieldFault("request", str(error))]) from error
    return WhatIfMove(
        after,
        draft.process,
        told=f"{draft.process} gave back {_units_in_words(sandbox, amounts)}.",
        at="state",
    )


def _grant_request(draft: Draft, sandbox: Sandbox, process: int, amounts: Vector) -> WhatIfMove:
    result = check_sandbox(sandbox, process, amounts)
    if not result.can_be_applied:
        sentence = f"Nothing was allocated. {result.headline}. {result.answer.reason}"
        raise BadDraft([FieldFault("request", sentence)])
    return WhatIfMove(
        sandbox.grant(process, amounts),
        draft.process,
        told=f"{draft.process} was granted {_units_in_words(sandbox, amounts)}.",
        at="state",
    )


def _units_in_words(sandbox: Sandbox, amounts: Vector) -> str:
    return joined_in_words(
        [f"{units:,} {key}" for key, units in zip(sandbox.classes, amounts, strict=True) if units]
    )


def _unchanged_move(draft: Draft, *, at: str) -> WhatIfMove:
    """The state, and the request as typed, if there is one.

    If it raises BadDraft, the error contains the draft, which may have changed.
    """
    try:
        sandbox = read_draft(draft)
        if not draft.request.strip():
            process = draft.process if draft.process in sandbox.processes else ""
            return WhatIfMove(sandbox, process, at=at)
        return WhatIfMove(sandbox, draft.process, read_request(draft, sandbox)[1], at=at)
    except BadDraft as error:
        raise BadDraft(error.faults, draft) from error
