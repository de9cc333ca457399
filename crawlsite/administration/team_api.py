"""`/api/v1/teams` and `/api/v1/team-rule`: what the pages of teams show and do."""

# No postponed annotations here, since django-ninja reads annotations.

from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST
from crawling.installation.permissions import acts_on_own_only
from crawling.models import CrawlJob, Team
from crawling.runs.crawls import teams as crawl_teams
from serving.access import AuthenticatedRequest, needs
from serving.schemas import Schema

teams, team_rule = Router(), Router()
may_change_teams = needs("crawling.change_team")
Id = Annotated[int, Path(ge=1, le=LARGEST)]


class TeamShare(Schema):
    pool: int
    share: int


class TeamOut(Schema):
    id: int
    name: str
    members: list[str]
    crawls: int
    shares: list[TeamShare] = Field(description="edited by PATCH /pools/{pool}/shares/{share}")


class TeamList(Schema):
    items: list[TeamOut]


class NewTeam(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Press", "members": []}]}
    )
    name: str
    members: list[str] = Field([], description="names of users")


class TeamChanges(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"members": []}]})
    name: str | None = Field(None, description="409 while a crawl or a share goes by the old one")
    members: list[str] | None = Field(None, description="names of users, all of them")


class TeamRuleOut(Schema):
    own_crawls_only: bool = Field(
        description="operators act on crawls of their own and of their teams only; all users read "
        "all crawls"
    )


class TeamRuleIn(TeamRuleOut):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"own_crawls_only": True}]}
    )


@teams.get("", response=TeamList, summary="List teams, their members and their shares of pools")
@may_change_teams
def list_teams(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": [team_facts(team) for team in Team.objects.all()]}


@teams.post("", response={201: TeamOut}, summary="Create a team")
@may_change_teams
def create_team(request: AuthenticatedRequest, asked: Annotated[NewTeam, Body()]) -> Status:
    team = crawl_teams.create_team(asked.name, asked.members, by=request.user)
    return Status(201, team_facts(team))


@teams.get("/{team_id}", response=TeamOut, summary="Get a team")
@may_change_teams
def get_team(request: AuthenticatedRequest, team_id: Id) -> dict[str, Any]:
    return team_facts(get_object_or_404(Team, pk=team_id))


@teams.patch("/{team_id}", response=TeamOut, summary="Rename a team, or replace its members")
@may_change_teams
def update_team(
    request: AuthenticatedRequest, team_id: Id, asked: Annotated[TeamChanges, Body()]
) -> dict[str, Any]:
    team = get_object_or_404(Team, pk=team_id)
    if asked.name is not None and asked.name != team.name:
        crawl_teams.rename_team(team, asked.name, by=request.user)
    if asked.members is not None:
        crawl_teams.set_members(team, asked.members, by=request.user)
    return team_facts(team)


@teams.delete("/{team_id}", response={204: None}, summary="Delete a team that nothing uses")
@may_change_teams
def delete_team(request: AuthenticatedRequest, team_id: Id) -> Status:
    """409, with its uses, while a crawl or a share of a pool refers to its name."""
    crawl_teams.delete_team(get_object_or_404(Team, pk=team_id), by=request.user)
    return Status(204, None)


@team_rule.get("", response=TeamRuleOut, summary="Get on which crawls operators act")
@may_change_teams
def get_team_rule(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"own_crawls_only": acts_on_own_only()}


@team_rule.put("", response=TeamRuleOut, summary="Set on which crawls operators act")
@may_change_teams
def set_team_rule(
    request: AuthenticatedRequest, asked: Annotated[TeamRuleIn, Body()]
) -> dict[str, Any]:
    crawl_teams.set_team_rule(own_crawls_only=asked.own_crawls_only, by=request.user)
    return {"own_crawls_only": asked.own_crawls_only}


def team_facts(team: Team) -> dict[str, Any]:
    members = team.members.order_by("username").values_list("username", flat=True)
    return {
        "id": team.pk,
        "name": team.name,
        "members": list(members),
        "crawls": CrawlJob.objects.filter(team=team.name).count(),
        "shares": [
            {"pool": share.pool_id, "share": share.pk} for share in crawl_teams.shares_of(team)
        ],
    }
