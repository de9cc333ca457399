"""The page of the capacity planner."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.http import urlencode
from django.utils.text import capfirst

from crawling.dashboard.orders.forms.fields import form_field, plain
from crawling.uses.planner.installation_rates import InstallationRates, measured_rates
from crawling.uses.planner.plan import ERRATUM, CapacityPlan, plan_capacity
from crawling.uses.planner.planned_crawl import FIELDS, read_planned_crawl
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import asked_text


@authenticated(needs="crawling.view_crawljob")
def planner(request: AuthenticatedRequest) -> HttpResponse:
    """Show the needs of a crawl of the size in the address. Without a size there, that of the
    source document is shown.
    """
    rates = measured_rates()
    form, plan = _read_plan(request)
    context = {
        "form": form,
        "plan": plan,
        "rates": [(one.question.label, value) for one, value in _by_field(rates)],
        "measured": urlencode(
            form.answers | {one.name: plain(value) for one, value in _by_field(rates)}
        ),
        "erratum": ERRATUM,
        "command": _command(form.answers),
    }
    return render(request, "planner/planner.html", context, status=200 if plan else 422)


class PlanForm(forms.Form):
    def __init__(self, answers: dict[str, str], errors: dict[str, str]) -> None:
        filled = {one.name: plain(one.default) for one in FIELDS} | answers
        super().__init__(filled)
        self.answers = answers
        self.fields |= {one.name: form_field(one) for one in FIELDS}
        for name, sentence in errors.items():
            self.add_error(name, capfirst(sentence))


def _read_plan(request: HttpRequest) -> tuple[PlanForm, CapacityPlan | None]:
    given = {one.name: asked_text(request.GET, one.name) for one in FIELDS}
    answers = {name: text for name, text in given.items() if text}
    crawl, errors = read_planned_crawl(answers)
    return PlanForm(answers, errors), plan_capacity(crawl) if crawl else None


def _by_field(rates: InstallationRates) -> list[tuple[Any, float]]:
    found = rates.as_input()
    return [(one, found[one.name]) for one in FIELDS if one.name in found]


def _command(answers: dict[str, str]) -> str:
    options = {one.name: one.question.option for one in FIELDS}
    return "".join(f" {options[name]} {text}" for name, text in answers.items())


app_name = "planner"
urlpatterns = [path("", planner, name="planner")]
