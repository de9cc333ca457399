"""`POST /api/v1/pools/{id}/what-if`: what would become of a request, tried on a copy of the live
pool."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated

from ninja import Body, Router
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

from allocation.api.schemas import Name, PoolId, Units, Vector, WhatIfOut, WhatIfStep
from allocation.pool_copy import PoolCopy, copy_of
from allocation.rules.banker import State, fits, minus
from allocation.state_check import StateCheck, check_request, check_state, parties_with_names
from allocation.whatif.sandbox import MOST_CLASSES, MOST_PROCESSES
from serving.access import AuthenticatedRequest, needs
from serving.schemas import Schema

what_if = Router()

Amounts = Annotated[
    Vector | Annotated[dict[str, Units], Field(max_length=MOST_CLASSES)],
    Field(
        description="units in the order of the pool's `resources`, or by class; a class that "
        "is not named is 0"
    ),
]


class HypotheticalProcess(Schema):
    """A hypothetical process. Its units are subtracted from Available."""

    model_config = ConfigDict(extra="forbid")
    name: Name
    maximum: Amounts
    allocation: Amounts | None = None


class WhatIf(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "add": [{"name": "one more crawl", "maximum": {"worker": 1, "memory": 64}}],
                    "process": "one more crawl",
                    "request": {"worker": 1},
                },
                {"process": 1, "request": {"fetch_slots": 8}},
                {},
            ]
        },
    )
    add: Annotated[list[HypotheticalProcess], Field(max_length=MOST_PROCESSES)] = Field(
        [], description="hypothetical processes"
    )
    process: Annotated[int, Field(ge=1, le=2**63 - 1, strict=True)] | Name | None = Field(
        None, description="the requester: id of a live process, or name of one in `add`"
    )
    request: Amounts | None = Field(
        None, description="units requested; default: the state itself is checked"
    )


@what_if.post(
    "/{pool_id}/what-if",
    response=WhatIfOut,
    summary="Test a request or further processes; nothing changes",
)
@needs("allocation.view_pool")
def ask_what_if(
    request: AuthenticatedRequest, pool_id: PoolId, question: Annotated[WhatIf, Body()]
) -> WhatIfOut:
    """The answer is that of the Banker's algorithm, whatever the policy of the pool.

    `process` and `request` go together; without them the state itself is checked.

    Reservations of paused crawls stay as they are. After `exceeds_need`, request less.
    """
    if (question.process is None) != (question.request is None):
        raise HttpError(422, "process and request go together; give both, or neither.")
    copy = copy_of(pool_id, asker=question.process if isinstance(question.process, int) else None)
    classes = copy.sandbox.classes
    state = _state_with_newcomers(copy, question.add)
    names: list[int | str] = [*copy.ids, *(one.name for one in question.add)]
    parties = parties_with_names(
        state, [*copy.sandbox.processes, *(one.name for one in question.add)], classes
    )
    if question.process is None or question.request is None:
        return _answer_out(check_state(state, parties), names)
    if kept := [process.label for process in copy.left_out if process.id == question.process]:
        raise HttpError(
            422,
            f"process: {kept[0]} pauses with a reservation; it asks for nothing until it is "
            "resumed.",
        )
    if question.process not in names:
        raise HttpError(
            422,
            f"process: there is no {question.process} among the live processes, by id, or the "
            "added ones, by name.",
        )
    row = names.index(question.process)
    return _answer_out(
        check_request(state, row, _read_amounts("request", question.request, classes), parties),
        names,
    )


def _state_with_newcomers(copy: PoolCopy, newcomers: list[HypotheticalProcess]) -> State:
    """The state of the copy, with further processes.

    HttpError says why there cannot be such a state.
    """
    state, classes, total = copy.sandbox.state, copy.sandbox.classes, copy.sandbox.total
    if len({one.name for one in newcomers}) < len(newcomers):
        raise HttpError(422, "add: two have the same name; rename one.")
    available, maximum, allocation = state.available, list(state.maximum), list(state.allocation)
    for one in newcomers:
        most = _read_amounts(f"maximum of {one.name}", one.maximum, classes)
        held = _read_amounts(f"allocation of {one.name}", one.allocation or {}, classes)
        if not fits(most, total):
            raise HttpError(
                422,
                f"add: {one.name} claims more than there is, {_units_in_words(total, classes)}; "
                "the pool would not register it.",
            )
        if not fits(held, most) or not fits(held, available):
            raise HttpError(
                422,
                f"add: {one.name} can hold at most its maximum, and what is available: "
                f"{_units_in_words(available, classes)}.",
            )
        available = minus(available, held)
        maximum.append(most)
        allocation.append(held)
    return State(available, tuple(maximum), tuple(allocation))


def _read_amounts(
    what: str, amounts: list[int] | dict[str, int], classes: tuple[str, ...]
) -> tuple[int, ...]:
    if isinstance(amounts, list):
        if len(amounts) != len(classes):
            raise HttpError(
                422,
                f"{what}: {len(amounts)} numbers for {len(classes)} classes; give one for each: "
                f"{', '.join(classes)}.",
            )
        return tuple(amounts)
    if unknown := [key for key in amounts if key not in classes]:
        raise HttpError(
            422, f"{what}: the pool has no class {unknown[0][:60]}; it has {', '.join(classes)}."
        )
    return tuple(amounts.get(key, 0) for key in classes)


def _units_in_words(units: tuple[int, ...], classes: tuple[str, ...]) -> str:
    return ", ".join(f"{key} {number}" for key, number in zip(classes, units, strict=True))


def _answer_out(answer: StateCheck, names: list[int | str]) -> WhatIfOut:
    sequence = None if answer.sequence is None else [names[i] for i in answer.sequence]
    return WhatIfOut(
        verdict=answer.verdict,
        is_safe=answer.is_safe,
        safe_sequence=sequence,
        steps=None
        if sequence is None
        else [
            WhatIfStep(process=one, work=list(w))
            for one, w in zip(sequence, answer.work or (), strict=False)
        ],
        reason=answer.reason,
    )
