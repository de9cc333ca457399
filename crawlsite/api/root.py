"""The root of the JSON: `/api/`, with its description at `/api/openapi.json` and a page to try it at `/api/docs`."""

from __future__ import annotations

from ninja import Swagger

from allocation.api import banker, pools
from crawling.api.checkpoints import checkpoints
from crawling.api.crawls import crawls
from crawling.api.documents import documents
from crawling.api.findings import findings
from crawling.api.history import history
from crawling.api.page_cache import cache
from crawling.api.reports import reports as crawl_reports
from crawling.api.schedules import schedules
from crawling.api.scoping import blacklist, scoping
from crawling.api.steering import steering
from crawling.api.trials import trials
from crawling.api.webhooks import webhooks
from crawlsite.api.auth import WAYS, members_only
from crawlsite.api.errors import add_error_handlers
from crawlsite.api.openapi import DescribedAPI
from dnscache.api import dns
from dnscache.reports import reports as dns_reports

DESCRIPTION = """Everything that the dashboard does, for programs.

Log in by a token (`manage.py api_token USER --name NAME`, then `Authorization: Bearer TOKEN`) or by the dashboard's session with
its CSRF token. Lists come in pages: while `next` is not null, ask again with `cursor` set to it. Rows that are added meanwhile
neither repeat nor hide others. Errors carry a sentence in `detail`, and one for each wrong field in `errors`."""

api = DescribedAPI(
    title="crawlsite",
    version="1",
    urls_namespace="api",
    description=DESCRIPTION,
    auth=WAYS,
    docs_decorator=members_only,
    docs=Swagger({"validatorUrl": "none", "persistAuthorization": False}),  # its validator would be asked on the internet
)
api.add_router("/crawls", crawls, tags=["crawls"])
api.add_router("/crawls", steering, tags=["steering"])
api.add_router("/crawls", checkpoints, tags=["checkpoints"])
api.add_router("/crawls", schedules, tags=["steering"])
api.add_router("/crawls", findings, tags=["findings"])
api.add_router("/crawls", documents, tags=["findings"])
api.add_router("/crawls", scoping, tags=["scope"])
api.add_router("/blacklist", blacklist, tags=["scope"])
api.add_router("/page-cache", cache, tags=["findings"])
api.add_router("/crawls", crawl_reports, tags=["findings"])
api.add_router("/url", history, tags=["findings"])
api.add_router("/pools", pools, tags=["bank"])
api.add_router("/banker", banker, tags=["bank"])
api.add_router("/dns", dns_reports, tags=["DNS cache"])
api.add_router("/dns", dns, tags=["DNS cache"])
api.add_router("/trials", trials, tags=["trials"])
api.add_router("/webhooks", webhooks, tags=["webhooks"])
add_error_handlers(api)
