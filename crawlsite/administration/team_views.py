"""The pages about teams: a list in which they are created, and one team with its members and its
shares.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from crawling.base.errors import BadOrder, WrongState
from crawling.dashboard.base.trouble import mistakes_kept
from crawling.installation.permissions import acts_on_own_only
from crawling.models import CrawlJob, Team
from crawling.runs.crawls.teams import (
    create_team,
    delete_team,
    rename_team,
    set_members,
    set_team_rule,
    shares_of,
    team_uses_in_words,
)
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.change_team", methods=("GET", "HEAD", "POST"))
def teams_page(request: AuthenticatedRequest) -> HttpResponse:
    typed = {name: request.POST.get(name, "") for name in ("name", "members")}
    errors: dict[str, str] = {}
    if request.method == "POST":
        with mistakes_kept(errors):
            team = create_team(typed["name"], typed["members"].split(), by=request.user)
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
    here = {"rows": rows, "typed": typed, "errors": errors, "own_crawls_only": acts_on_own_only()}
    return render(request, "administration/teams.html", here, status=422 if errors else 200)


@authenticated(needs="crawling.change_team", methods=("POST",))
def change_team_rule(request: AuthenticatedRequest) -> HttpResponse:
    is_own = request.POST.get("crawls") != "all"
    set_team_rule(own_crawls_only=is_own, by=request.user)
    messages.success(
        request,
        "Operators act on crawls of their own and of their teams only."
        if is_own
        else "Operators act on all crawls.",
    )
    return redirect("administration:teams")


@authenticated(needs="crawling.change_team", methods=("GET", "HEAD", "POST"))
def team_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Team, pk=pk)
    typed: dict[str, Any] = {
        "name": row.name,
        "members": "\n".join(row.members.order_by("username").values_list("username", flat=True)),
    }
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            return _change_team(request, row)
        except BadOrder as error:
            errors = error.errors
        except WrongState as error:
            errors = {"team": str(error)}
        typed |= {name: request.POST[name] for name in typed if name in request.POST}
        row.refresh_from_db()
    here = {"team": row, "typed": typed, "errors": errors}
    here |= {
        "uses": team_uses_in_words(row),
        "shares": shares_of(row),
        "own_crawls_only": acts_on_own_only(),
    }
    return render(request, "administration/team.html", here, status=422 if errors else 200)


def _change_team(request: AuthenticatedRequest, row: Team) -> HttpResponse:
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
