"""The cases, by subject."""

from tests.webs.case import Case
from tests.webs.cases import answers, documents, growing, moments, names, reach, traps

CASES: list[Case] = [
    *answers.CASES,
    *documents.CASES,
    *growing.CASES,
    *moments.CASES,
    *traps.CASES,
    *names.CASES,
    *reach.CASES,
]
