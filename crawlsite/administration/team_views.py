"""The pages of teams: list and make them, and one of them with its members and its shares."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from crawling.crawls.teams import (
    create_team,
    delete_team,
    rename_team,
    set_members,
    shares_of,
    uses_of,
)
from crawling.errors import BadOrder, WrongState
from crawling.models import CrawlJob, Team
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.change_team", methods=("GET", "HEAD", "POST"))
def teams(request: AuthenticatedRequest) -> HttpResponse:
    """List the teams; make one."""
    typed = {name: request.POST.get(name, "") for name in ("name", "members")}
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            team = create_team(typed["name"], typed["members"].split(), by=request.user)
        except BadOrder as error:
            errors = error.errors
        else:
            messages.success(request, f"The team {team.name} is made.")
            return redirect("administration:team", pk=team.pk)
    rows = [
        {
            "team": team,
            "members": team.members.order_by("username"),
            "crawls": CrawlJob.objects.filter(team=team.name).count(),
            "shares": shares_of(team),
        }
        for team in Team.objects.all()
    ]
    here = {"rows": rows, "typed": typed, "errors": errors}
    return render(request, "administration/teams.html", here, status=422 if errors else 200)


@authenticated(needs="crawling.change_team", methods=("GET", "HEAD", "POST"))
def team(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """A team: rename it, replace its members, delete it."""
    row = get_object_or_404(Team, pk=pk)
    typed: dict[str, Any] = {
        "name": row.name,
        "members": "\n".join(row.members.order_by("username").values_list("username", flat=True)),
    }
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            return _act(request, row)
        except BadOrder as error:
            errors = error.errors
        except WrongState as error:
            errors = {"team": str(error)}
        typed |= {name: request.POST[name] for name in typed if name in request.POST}
        row.refresh_from_db()
    here = {"team": row, "typed": typed, "errors": errors}
    here |= {"uses": uses_of(row), "shares": shares_of(row)}
    return render(request, "administration/team.html", here, status=422 if errors else 200)


def _act(request: AuthenticatedRequest, row: Team) -> HttpResponse:
    if request.POST.get("action") == "delete":
        delete_team(row, by=request.user)
        messages.success(request, f"The team {row.name} is deleted.")
        return redirect("administration:teams")
    if "name" in request.POST and request.POST["name"].strip() != row.name:
        rename_team(row, request.POST["name"], by=request.user)
    if "members" in request.POST:
        set_members(row, request.POST["members"].split(), by=request.user)
    messages.success(request, f"The team {row.name} is saved.")
    return redirect("administration:team", pk=row.pk)
