"""The cases, by subject."""

from tests.webs.case import Case
from tests.webs.cases import answers, documents, moments, names, traps

CASES: list[Case] = [
    *answers.CASES,
    *documents.CASES,
    *moments.CASES,
    *traps.CASES,
    *names.CASES,
]
