"""The root of the JSON, `/api/v1/`, with its description at `/api/v1/openapi.json` and a page for
trying endpoints at `/api/v1/docs`.
"""

# No postponed annotations here, since django-ninja reads annotations.

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Swagger
from pydantic import Field

from allocation.api import banker, pools
from crawling.base.errors import BadOrder
from crawling.base.use import offered_by_uses
from crawling.dashboard.base.api_parameters import may_view
from crawling.dashboard.crawls.api import crawls, deleted
from crawling.dashboard.crawls.api_bulk import bulk, drafts, views
from crawling.dashboard.crawls.api_cancelling import inquiries, run_jobs
from crawling.dashboard.crawls.api_overview import named, overview, stalls, who
from crawling.dashboard.hosts.api import hosts, search, waits
from crawling.dashboard.inspect.api import history
from crawling.dashboard.jobs.api import jobs
from crawling.dashboard.orders.api_rules import blocklist, scoping
from crawling.dashboard.orders.api_schedules import all_schedules, schedules
from crawling.dashboard.orders.api_templates import keeping, templates
from crawling.dashboard.pages.api_documents import documents
from crawling.dashboard.pages.api_downloads import downloads
from crawling.dashboard.pages.api_renderings import renderings
from crawling.dashboard.pages.api_reports import cache
from crawling.dashboard.pages.api_reports import reports as crawl_reports
from crawling.dashboard.run.api.archive import archive, disk
from crawling.dashboard.run.api.findings import findings
from crawling.dashboard.run.api.frontier import frontier, site_trees
from crawling.dashboard.run.api.live_view import live_views
from crawling.dashboard.run.api.runs import kept
from crawling.dashboard.run.api.share_links import share_links
from crawling.dashboard.run.api.steering import steering
from crawlsite.administration.api import access, activity, users
from crawlsite.administration.team_api import team_rule, teams
from crawlsite.api.auth import WAYS, RequestsAMinute, members_only
from crawlsite.api.errors import add_error_handlers
from crawlsite.api.health import health
from crawlsite.api.news import news
from crawlsite.api.openapi import DescribedAPI, tell_permission
from crawlsite.api.preferences import preferences
from crawlsite.api.tokens import tokens
from dnscache.api import dns
from dnscache.reports import reports as dns_reports
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

DESCRIPTION = """The operations of the dashboard, for programs.

Log in by a token (`manage.py api_token USER --name NAME`, then `Authorization: Bearer TOKEN`) or
by the dashboard's session with its CSRF token. Lists come in pages: while `next` is not null, send
`cursor` with its value. Rows added meanwhile neither repeat nor hide others. The requests of a
token are limited per minute (API_REQUESTS_A_MINUTE); beyond that the answer is 429, with the
seconds to wait in `Retry-After`. Errors have a sentence in `detail`, and one for each wrong field
in `errors`.

Nouns name resources, verbs name actions: `GET /crawls` is `list_crawls`, `PUT` replaces a resource
and may be repeated, `POST /crawls/{crawl_id}/pause` is `pause_crawl`. A filter has the same
name everywhere (`run`, `q`, `since`, `until`, `state`, `status`); an unknown one is refused."""
#: the number of slashes in `/api/v1/crawls`
LIST_DEPTH = 3
#: the subject of each group of endpoints, in the order of the page
GROUPS = {
    "overview": "Running and waiting crawls, what needs attention, and news.",
    "crawls": "Crawls and their orders, runs, templates, schedules and saved views.",
    "control": "Start, pause, stop, retry; the queue, start URLs, tags and many crawls at once.",
    "results": "Findings of runs: pages, files, failures, changes, duplicates, the log.",
    "scope": "Rules of a crawl, edits of its order, robots.txt exceptions, the blocklist.",
    "checkpoints": "Saved states of runs.",
    "hosts": "Hosts of all crawls.",
    "resources": "Pools of the Banker's algorithm: limits, ledger, proofs, waits, what-if.",
    "DNS cache": "Names and their addresses, failing names, evictions.",
    "experiments": "Policies of allocation, compared under the same load.",
    "alerts": "Webhooks and e-mails, and their deliveries.",
    "identity": "The identity of the crawler, and your preferences.",
    "tokens": "Your API tokens.",
    "administration": "Users, teams, access rules and the activity log.",
    "maintenance": "The disk.",
    "health": "Servers, queues, workers and versions.",
}

api = DescribedAPI(
    title="crawlsite",
    version="1",
    urls_namespace="api",
    description=DESCRIPTION,
    auth=WAYS,
    throttle=RequestsAMinute(),
    docs_decorator=members_only,
    servers=[{"url": "/", "description": "this server"}],
    openapi_extra={
        "tags": [{"name": name, "description": about} for name, about in GROUPS.items()]
    },
    # the default validator is a site on the internet, and a hundred unfolded endpoints take seconds
    docs=Swagger(
        {
            "validatorUrl": "none",
            "persistAuthorization": False,
            "docExpansion": "none",
            "filter": True,
        }
    ),
)


def known_parameters_only(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse unknown parameters of an endpoint. If it ignored them, a misspelt filter would give
    rows that were not asked for.
    """
    known = {_parameter_name(one) for one in list(signature(endpoint).parameters.values())[1:]}

    @wraps(endpoint)
    def check_and_call(request: HttpRequest, *args: Any, **values: Any) -> Any:
        if unknown := sorted(request.GET.keys() - known):
            sentence = "is not a known parameter; omit it"
            raise BadOrder(dict.fromkeys(unknown, sentence))
        return endpoint(request, *args, **values)

    return check_and_call


def _parameter_name(parameter: Parameter) -> str:
    """The name of a parameter as a program writes it: the alias, if it has one."""
    told = getattr(parameter.annotation, "__metadata__", ())
    aliases = (alias for one in told if (alias := getattr(one, "alias", None)))
    return next(aliases, parameter.name)


class Index(Schema):
    """The addresses with which a program begins."""

    version: str
    user: str = Field(description="the user whose token or session was sent")
    documentation: str
    description: str = Field(description="address of the OpenAPI description of all operations")
    lists: dict[str, str] = Field(description="the lists to begin with: address and summary")


@api.get("", response=Index, summary="Get the addresses to begin with", tags=["overview"])
@may_view
def get_index(request: AuthenticatedRequest) -> dict[str, Any]:
    paths = api.get_openapi_schema()["paths"]
    return {
        "version": api.version,
        "user": request.user.get_username(),
        "documentation": reverse("api:openapi-view"),
        "description": reverse("api:openapi-json"),
        "lists": {
            path: methods["get"]["summary"]
            for path, methods in paths.items()
            if "get" in methods and "{" not in path and path.count("/") == LIST_DEPTH
        },
    }


api.add_decorator(known_parameters_only)
api.add_decorator(tell_permission, mode="view")
api.add_router("/crawls", crawls, tags=["crawls"])
api.add_router("/crawls", kept, tags=["crawls"])
api.add_router("/crawls", site_trees, tags=["results"])
api.add_router("/crawls", steering, tags=["control"])
api.add_router("/crawls", share_links, tags=["control"])
api.add_router("/crawls", schedules, tags=["control"])
api.add_router("/crawls", findings, tags=["results"])
api.add_router("/crawls", frontier, tags=["control"])
api.add_router("/crawls", stalls, tags=["results"])
api.add_router("/bulk-actions", bulk, tags=["control"])
api.add_router("/drafts", drafts, tags=["crawls"])
api.add_router("/jobs", jobs, tags=["crawls"])
api.add_router("/crawls", run_jobs, tags=["results"])
api.add_router("/inquiries", inquiries, tags=["results"])
api.add_router("/deleted", deleted, tags=["crawls"])
api.add_router("/crawls", keeping, tags=["crawls"])
api.add_router("/templates", templates, tags=["crawls"])
api.add_router("/views", views, tags=["crawls"])
api.add_router("/crawls", downloads, tags=["results"])
api.add_router("/crawls", documents, tags=["results"])
api.add_router("/crawls", scoping, tags=["scope"])
api.add_router("/blocklist", blocklist, tags=["scope"])
api.add_router("/page-cache", cache, tags=["results"])
api.add_router("/crawls", archive, tags=["results"])
api.add_router("/crawls", crawl_reports, tags=["results"])
api.add_router("/crawls", renderings, tags=["results"])
api.add_router("/crawls", live_views, tags=["results"])
api.add_router("/hosts", hosts, tags=["hosts"])
api.add_router("/hosts", waits, tags=["DNS cache"])
api.add_router("/pages", search, tags=["results"])
api.add_router("/overview", overview, tags=["overview"])
api.add_router("/news", news, tags=["overview"])
api.add_router("/identity", who, tags=["identity"])
api.add_router("/named-things", named, tags=["overview"])
api.add_router("/tokens", tokens, tags=["tokens"])
api.add_router("/preferences", preferences, tags=["identity"])
api.add_router("/disk", disk, tags=["maintenance"])
api.add_router("/url-history", history, tags=["results"])
api.add_router("/pools", pools, tags=["resources"])
api.add_router("/banker", banker, tags=["resources"])
api.add_router("/dns", dns, tags=["DNS cache"])
api.add_router("/dns", dns_reports, tags=["DNS cache"])
api.add_router("/health", health, tags=["health"])
api.add_router("/schedules", all_schedules, tags=["crawls"])
api.add_router("/access-rules", access, tags=["administration"])
api.add_router("/users", users, tags=["administration"])
api.add_router("/teams", teams, tags=["administration"])
api.add_router("/team-rule", team_rule, tags=["administration"])
api.add_router("/activity", activity, tags=["administration"])
for prefix, router, group in offered_by_uses("api", "ROUTERS"):
    api.add_router(prefix, router, tags=[group])
add_error_handlers(api)
