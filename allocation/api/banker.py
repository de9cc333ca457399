"""`/api/v1/banker`: the algorithm's verdict on any state."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated

from ninja import Body, Router
from ninja.errors import HttpError

from allocation.api.schemas import AnswerOut, SafeStepOut, SafetyQuestion
from allocation.reasons import Parties
from allocation.rules.banker import State
from allocation.state_check import (
    StateCheck,
    check_request,
    check_state,
    parties_with_names,
    parties_with_numbers,
)
from serving.access import AuthenticatedRequest, needs

banker = Router()


@banker.post(
    "/check",
    response=AnswerOut,
    summary="Check a given state by the Banker's algorithm",
)
@needs("allocation.view_pool")
def check_banker_state(
    request: AuthenticatedRequest, question: Annotated[SafetyQuestion, Body()]
) -> AnswerOut:
    """Nothing is stored. `process` and `request` go together."""
    if (question.process is None) != (question.request is None):
        raise HttpError(422, "process and request go together; give both, or neither.")
    try:
        state = State.from_arrays(question.available, question.maximum, question.allocation)
        parties = _named_or_numbered_parties(question, state)
        if question.process is None or question.request is None:
            return _answer_out(check_state(state, parties))
        return _answer_out(check_request(state, question.process, question.request, parties))
    except (ValueError, IndexError) as error:
        raise HttpError(422, f"{error}.") from error


def _named_or_numbered_parties(question: SafetyQuestion, state: State) -> Parties:
    """The processes and classes, with the given names or with numbers. Raises ValueError if there
    are too many or too few names.
    """
    plain = parties_with_numbers(state)
    processes = question.processes or [row.label for row in plain.rows]
    classes = question.classes or [measure.key for measure in plain.measures]
    if len(processes) != len(plain.rows) or len(classes) != len(plain.measures):
        raise ValueError("classes and processes name each column and each row, or none")
    return parties_with_names(state, processes, classes)


def _answer_out(answer: StateCheck) -> AnswerOut:
    steps = None
    if answer.sequence is not None and answer.work is not None:
        steps = [
            SafeStepOut(process=i, work=list(work))
            for i, work in zip(answer.sequence, answer.work, strict=False)
        ]
    return AnswerOut(
        verdict=answer.verdict,
        is_safe=answer.is_safe,
        safe_sequence=None if answer.sequence is None else list(answer.sequence),
        steps=steps,
        reason=answer.reason,
    )
