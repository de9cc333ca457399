"""The roles that may ask for each address.

A new page or endpoint needs its row in ROUTES, or the first test fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import copy
from enum import IntEnum

import django_rq
import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.utils.regex_helper import normalize
from rq import Queue

from allocation.models import Pool, Process, Share
from allocation.services import create_pool, ensure_share
from crawling.models import AllowedNetwork, CrawlJob, Host, Team
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.collections.changes import CollectionFields, create_collection
from crawling.uses.collections.models import Collection
from crawlsite.administration.accounts import ROLES, make_roles
from experiments.models import Experiment
from experiments.store import make_experiment
from tests.crawling.conftest import CLASSES


class Role(IntEnum):
    """Each may do what those before it may."""

    NOBODY = 0
    VIEWER = 1
    OPERATOR = 2
    ADMINISTRATOR = 3


NOBODY, VIEWER, OPERATOR, ADMINISTRATOR = Role
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
STEERING = "crawls/^(?P<crawl>[0-9]{1,18})/(?P<verb>start|pause|resume|stop|abort)/$"
TABLE = (
    "crawls/^(?P<pk>[0-9]{1,18})/pages/(?P<url>[0-9]{1,18})/table-(?P<number>[0-9]{1,9})"
    "\\.(?P<kind>csv)$"
)
DOWNLOAD = (
    "crawls/^(?P<pk>[0-9]{1,18})/download/"
    "(?P<data>pages|text|tables|fields|links|structured-data)"
    "\\.(?P<kind>csv|jsonl|parquet|zip)$"
)
#: route -> method -> the least role; methods that are left out are not allowed
ROUTES: dict[str, dict[str, Role]] = {
    "": {"GET": VIEWER},
    "attention/": {"GET": VIEWER},
    "attention/count/": {"GET": VIEWER},
    "attention/read/": {"POST": VIEWER},
    "news/<str:token>/feed.atom": {"GET": NOBODY},
    "overview.csv": {"GET": VIEWER},
    "login/": {"GET": NOBODY, "POST": NOBODY, "PUT": NOBODY},
    "logout/": {"POST": NOBODY},
    "health/": {"GET": VIEWER},
    "healthz": {"GET": NOBODY},
    "readyz": {"GET": NOBODY},
    "metrics": {"GET": VIEWER},
    "crawls/": {"GET": VIEWER},
    "crawls/^list\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/bulk/": {"POST": OPERATOR},
    "crawls/undo/": {"POST": OPERATOR},
    "crawls/jobs/": {"GET": VIEWER},
    "crawls/jobs/<int:pk>/cancel/": {"POST": OPERATOR},
    "crawls/jobs/<int:pk>/run-again/": {"POST": OPERATOR},
    "crawls/imports/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/inquiries/<int:inquiry_id>/cancel/": {"POST": VIEWER},
    "crawls/inquiries/<int:inquiry_id>/ask-again/": {"POST": VIEWER},
    "crawls/views/": {"POST": VIEWER},
    "crawls/new/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/new/for/": {"POST": OPERATOR},
    "crawls/new/allow/": {"POST": ADMINISTRATOR},
    "crawls/test-fetch/": {"POST": OPERATOR},
    "crawls/test-fetch/<int:inquiry_id>/": {"GET": OPERATOR},
    "crawls/page-cache/": {"GET": VIEWER},
    "crawls/<int:crawl>/delete/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/<int:pk>/runs/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/runs/<int:number>/delete/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/<int:pk>/": {"GET": VIEWER},
    "crawls/<int:pk>/settings/": {"GET": VIEWER},
    "crawls/<int:pk>/owner/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/<int:pk>/raise-limit/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/<int:pk>/share/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/<int:pk>/share/<int:number>/revoke/": {"POST": OPERATOR},
    "shared/<slug:token>/": {"GET": NOBODY},
    "watches/<str:token>/feed.atom": {"GET": NOBODY},
    "crawls/<int:pk>/pages/": {"GET": VIEWER},
    "crawls/<int:pk>/pages/<int:url>/": {"GET": VIEWER},
    "crawls/<int:pk>/pages/<int:url>/watch/": {"POST": OPERATOR},
    "crawls/<int:pk>/pages/<int:url>/content/": {"GET": VIEWER},
    "crawls/<int:pk>/pages/<int:url>/picture/<slug:kind>/": {"GET": VIEWER},
    "crawls/<int:pk>/pages/<int:url>/rendering/": {"GET": VIEWER},
    "crawls/<int:pk>/live-view/": {"GET": VIEWER},
    "crawls/<int:pk>/shown/": {"GET": VIEWER},
    "stored/<str:token>/<int:number>/": {"GET": NOBODY},
    "crawls/<int:pk>/pages/<int:url>/record/": {"GET": OPERATOR},
    "crawls/<int:pk>/pages/<int:url>/document/": {"GET": OPERATOR},
    "crawls/^(?P<pk>[0-9]{1,18})/pages\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/<int:pk>/download/": {"GET": VIEWER, "POST": OPERATOR},
    DOWNLOAD: {"GET": VIEWER},
    "crawls/<int:pk>/wacz/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/run.wacz": {"GET": OPERATOR},
    "crawls/<int:pk>/mirror/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/mirror.zip": {"GET": OPERATOR},
    "crawls/<int:pk>/latest-mirror/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/latest-mirror.zip": {"GET": OPERATOR},
    TABLE: {"GET": VIEWER},
    "crawls/<int:pk>/replay/": {"GET": OPERATOR},
    "crawls/replay/": {"GET": VIEWER, "POST": ADMINISTRATOR},
    "crawls/captures/": {"GET": VIEWER},
    "crawls/<int:pk>/pages.warc.gz": {"GET": OPERATOR},
    "crawls/<int:pk>/tree/": {"GET": VIEWER},
    "crawls/<int:pk>/tree.csv": {"GET": VIEWER},
    "crawls/<int:pk>/duplicates/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/duplicates\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/<int:pk>/archive/": {"GET": VIEWER},
    "crawls/<int:pk>/archive/<int:number>/": {"GET": OPERATOR},
    "crawls/<int:pk>/copies/": {"GET": VIEWER, "POST": VIEWER},
    "crawls/<int:pk>/copies/text/<int:text>/": {"GET": VIEWER},
    "crawls/<int:pk>/copies/text/<int:text>/<int:new>/": {"GET": VIEWER},
    "crawls/<int:pk>/copies/passages/<int:old>/<int:new>/": {"GET": VIEWER},
    "crawls/<int:pk>/structured-data/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/structured-data\\.(?P<kind>csv|jsonl|parquet)$": {"GET": VIEWER},
    "crawls/<int:pk>/graph/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/^(?P<pk>[0-9]{1,18})/graph\\.(?P<kind>csv|jsonl|parquet|graphml)$": {"GET": VIEWER},
    "crawls/<int:pk>/link-changes/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/link-changes\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/<int:pk>/seeds/sources/": {"POST": OPERATOR},
    "crawls/<int:pk>/seeds/sources/<int:number>/": {"POST": OPERATOR},
    "crawls/<int:pk>/freshness/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/freshness\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/<int:pk>/watches/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/watches/<int:number>/": {"POST": OPERATOR},
    "crawls/<int:pk>/withdrawals/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/withdrawals/<int:number>/": {"POST": OPERATOR},
    "crawls/<int:pk>/checkpoints/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/hosts/": {"GET": VIEWER},
    "crawls/<int:pk>/frontier/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/not-fetched/": {"GET": VIEWER},
    "crawls/<int:pk>/fixes/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/fixes\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/<int:pk>/links/": {"GET": VIEWER},
    "crawls/<int:pk>/links/counted/": {"GET": VIEWER},
    "crawls/<int:pk>/lag/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/link-check\\.(?P<kind>csv|jsonl|xml)$": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/not-fetched\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/<int:pk>/frontier.txt": {"GET": VIEWER},
    "crawls/<int:pk>/seeds/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/url/": {"GET": VIEWER},
    "crawls/blocklist/": {"GET": VIEWER, "POST": ADMINISTRATOR},
    "crawls/blocklist/<int:number>/remove/": {"POST": ADMINISTRATOR},
    "crawls/test-scope/": {"POST": OPERATOR},
    "crawls/deleted/": {"GET": VIEWER},
    "crawls/deleted/<str:kind>/<int:pk>/restore/": {"POST": VIEWER},
    "crawls/deleted/<str:kind>/<int:pk>/remove/": {"GET": VIEWER, "POST": VIEWER},
    "crawls/<int:pk>/scope/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/robots/": {"POST": ADMINISTRATOR},
    "crawls/check/": {"POST": OPERATOR},
    "crawls/<int:pk>/scope/check/": {"POST": VIEWER},
    "crawls/<int:pk>/revert/": {"POST": OPERATOR},
    "crawls/<int:pk>/template/": {"POST": OPERATOR},
    "crawls/templates/<int:pk>/remove/": {"POST": OPERATOR},
    "crawls/<int:pk>/log/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/log\\.(?P<ending>txt|jsonl)$": {"GET": VIEWER},
    "crawls/<int:pk>/compare/": {"GET": VIEWER},
    "crawls/<int:pk>/compare/<int:old>/<int:new>/": {"GET": VIEWER},
    "crawls/<int:pk>/compare/<int:old>/<int:new>/pictures/": {"GET": VIEWER},
    "crawls/<int:pk>/charts/": {"GET": VIEWER},
    "crawls/<int:pk>/charts.csv": {"GET": VIEWER},
    "crawls/<int:pk>/evidence.zip": {"GET": OPERATOR},
    "crawls/<int:pk>/extracted/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/pages/<int:url>/fields/": {"GET": VIEWER},
    "crawls/new/extractor/": {"POST": OPERATOR},
    "crawls/extractors/": {"GET": VIEWER},
    "crawls/extractors/new/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/extractors/<int:pk>/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/extractors/<int:pk>/remove/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/extractors/<int:pk>/restore/": {"POST": OPERATOR},
    "crawls/extractors/<int:pk>/crawls/": {"POST": OPERATOR},
    "crawls/<int:pk>/pages/<int:url>/fields/page/": {"GET": VIEWER},
    "crawls/^(?P<pk>[0-9]{1,18})/extracted\\.(?P<kind>csv|json)$": {"GET": VIEWER},
    "crawls/<int:pk>/traps/": {"POST": OPERATOR},
    "crawls/<int:pk>/schedule/": {"GET": VIEWER, "POST": OPERATOR},
    "crawls/<int:pk>/retry/": {"POST": OPERATOR},
    "crawls/<int:crawl>/max/": {"POST": OPERATOR},
    STEERING: {"POST": OPERATOR},
    "hosts/": {"GET": VIEWER},
    "^hosts/list\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "hosts/<int:pk>/": {"GET": VIEWER},
    "hosts/<int:pk>/block/": {"POST": ADMINISTRATOR},
    "search/": {"GET": VIEWER},
    "search/text/": {"GET": VIEWER},
    "account/password/": {"GET": VIEWER, "POST": VIEWER},
    "account/tokens/": {"GET": VIEWER, "POST": VIEWER},
    "account/tokens/<int:pk>/revoke/": {"POST": VIEWER},
    "account/preferences/": {"GET": VIEWER, "POST": VIEWER},
    "account/refresh/": {"POST": VIEWER},
    "account/look/": {"POST": VIEWER},
    "collections/": {"GET": VIEWER},
    "collections/new/": {"GET": OPERATOR, "POST": OPERATOR},
    "collections/add/": {"GET": OPERATOR, "POST": OPERATOR},
    "collections/<int:pk>/": {"GET": VIEWER},
    "collections/<int:pk>/edit/": {"GET": OPERATOR, "POST": OPERATOR},
    "collections/<int:pk>/delete/": {"GET": OPERATOR, "POST": OPERATOR},
    "collections/<int:pk>/add-crawl/": {"POST": OPERATOR},
    "collections/<int:pk>/remove/": {"POST": OPERATOR},
    "collections/<int:pk>/undo/": {"POST": OPERATOR},
    "collections/<int:pk>/captures/": {"GET": VIEWER},
    "collections/<int:pk>/share/": {"GET": OPERATOR, "POST": OPERATOR},
    "collections/<int:pk>/share/<int:number>/revoke/": {"POST": OPERATOR},
    "collections/<int:pk>/wacz/": {"GET": VIEWER, "POST": OPERATOR},
    "collections/<int:pk>/collection.wacz": {"GET": OPERATOR},
    "shared/collections/<slug:token>/": {"GET": NOBODY},
    "shared/collections/<slug:token>/pages/<int:number>/": {"GET": NOBODY},
    "shared/collections/<str:token>/stored/<int:number>/": {"GET": NOBODY},
    "api/v1/collections": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/collections/<collection_id>": {"GET": VIEWER, "PATCH": OPERATOR, "DELETE": OPERATOR},
    "api/v1/collections/<collection_id>/members": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/collections/<collection_id>/members/<member_id>": {"DELETE": OPERATOR},
    "api/v1/collections/<collection_id>/captures": {"GET": VIEWER},
    "api/v1/collections/<collection_id>/wacz": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/collections/<collection_id>/wacz/export": {"GET": OPERATOR},
    "api/v1/collections/<collection_id>/share-links": {"GET": OPERATOR, "POST": OPERATOR},
    "api/v1/collections/<collection_id>/share-links/<link_id>": {"DELETE": OPERATOR},
    "alerts/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "alerts/<int:pk>/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "alerts/<int:pk>/deliveries/<int:delivery>/again/": {"POST": ADMINISTRATOR},
    "alerts/<int:pk>/test/": {"POST": ADMINISTRATOR},
    "alerts/weekly-summary/": {"POST": VIEWER},
    "about-this-crawler/": {"GET": NOBODY},
    "help/": {"GET": VIEWER},
    "help/<slug:document>/": {"GET": VIEWER},
    "crawls/schedules/": {"GET": VIEWER},
    "crawls/schedules/dates/": {"GET": VIEWER},
    "crawls/schedules/many/": {"GET": OPERATOR, "POST": OPERATOR},
    "crawls/templates/": {"GET": VIEWER},
    "administration/identity/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "administration/access/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "administration/access/<str:kind>/<int:pk>/remove/": {"POST": ADMINISTRATOR},
    "administration/users/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "administration/users/<int:pk>/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "administration/teams/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "administration/teams/rule/": {"POST": ADMINISTRATOR},
    "administration/teams/<int:pk>/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "administration/tokens/": {"GET": ADMINISTRATOR},
    "administration/activity/": {"GET": ADMINISTRATOR},
    "administration/activity.csv": {"GET": ADMINISTRATOR},
    "resources/": {"GET": VIEWER},
    "resources/limits/": {"GET": VIEWER},
    "resources/<int:pool>/shares/<int:share>/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "resources/<int:pool>/limits/<slug:page>/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "resources/new/": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "resources/what-if/": {"GET": VIEWER, "POST": VIEWER},
    "resources/<int:pool>/": {"GET": VIEWER},
    "resources/<int:pool>/sequence/": {"GET": VIEWER},
    "resources/<int:pool>/events/": {"GET": VIEWER},
    "dns/": {"GET": VIEWER},
    "dns/why/": {"GET": VIEWER},
    "dns/minutes.csv": {"GET": VIEWER},
    "dns/flush/": {"POST": ADMINISTRATOR},
    "dns/limit/": {"POST": ADMINISTRATOR},
    "dns/^(?P<deed>retry|pin|unpin)/$": {"POST": OPERATOR},
    "dns/^export\\.(?P<kind>csv|json|txt)$": {"GET": VIEWER},
    "capacity-planner/": {"GET": VIEWER},
    "experiments/": {"GET": VIEWER, "POST": OPERATOR},
    "experiments/<int:pk>/": {"GET": VIEWER},
    "experiments/<int:pk>/cancel/": {"POST": OPERATOR},
    "resources/<int:pool>/history.csv": {"GET": VIEWER},
    "experiments/<int:pk>/tries.csv": {"GET": VIEWER},
    "resources/<int:pool>/history/": {"GET": VIEWER},
    "api/v1/": {"GET": VIEWER},
    "api/v1/health": {"GET": VIEWER},
    "api/v1/openapi.json": dict.fromkeys(METHODS, VIEWER),
    "api/v1/docs": dict.fromkeys(METHODS, VIEWER),
    "api/v1/crawls": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>": {"GET": VIEWER, "PATCH": OPERATOR, "DELETE": OPERATOR},
    "api/v1/crawls/<crawl_id>/runs": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/runs/<run_number>": {"DELETE": OPERATOR},
    "api/v1/crawls/<crawl_id>/retention": {"GET": VIEWER, "PUT": OPERATOR},
    "api/v1/crawls/<crawl_id>/start": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/pause": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/resume": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/stop": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/abort": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/clone": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/tags": {"PUT": OPERATOR},
    "api/v1/crawls/<crawl_id>/retry-failed": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/schedule": {"GET": VIEWER, "PUT": OPERATOR, "DELETE": OPERATOR},
    "api/v1/crawls/<crawl_id>/downloads": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/downloads/<data>": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/downloads/<data>/export": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/extracted": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/extractions": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/extractions/previews": {"GET": VIEWER},
    "api/v1/extractors": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/extractors/<extractor_id>": {"GET": VIEWER, "PATCH": OPERATOR, "DELETE": OPERATOR},
    "api/v1/extractors/<extractor_id>/crawls": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/duplicates": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/not-fetched": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/copies": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/copies/texts": {"POST": VIEWER},
    "api/v1/crawls/<crawl_id>/copies/texts/<text_id>": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/copies/texts/<text_id>/<page_id>": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/copies/passages/<old_id>/<new_id>": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/structured-data": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/structured-data/kinds": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/graph": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/graph/compute": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/graph/pages": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/graph/hosts": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/graph/components": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/graph/drawings/<drawing_number>": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/link-changes": {"GET": VIEWER},
    "api/v1/jobs": {"GET": VIEWER},
    "api/v1/jobs/<job_id>": {"GET": VIEWER},
    "api/v1/jobs/<job_id>/cancel": {"POST": OPERATOR},
    "api/v1/jobs/<job_id>/run-again": {"POST": OPERATOR},
    "api/v1/imports": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/imports/<import_id>": {"GET": VIEWER},
    "api/v1/imports/<import_id>/cancel": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/jobs/<kind>/cancel": {"POST": OPERATOR},
    "api/v1/inquiries/<inquiry_id>/cancel": {"POST": VIEWER},
    "api/v1/inquiries/<inquiry_id>/ask-again": {"POST": VIEWER},
    "api/v1/replay": {"GET": VIEWER},
    "api/v1/replay/install": {"POST": ADMINISTRATOR},
    "api/v1/crawls/<crawl_id>/wacz": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/wacz/export": {"GET": OPERATOR},
    "api/v1/crawls/<crawl_id>/seed-sources": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/seed-sources/<source_id>": {"DELETE": OPERATOR},
    "api/v1/crawls/<crawl_id>/mirror": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/mirror/export": {"GET": OPERATOR},
    "api/v1/crawls/<crawl_id>/freshness": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/freshness/pages": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/latest-mirror": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/latest-mirror/export": {"GET": OPERATOR},
    "api/v1/crawls/<crawl_id>/pages/<page_id>/tables": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/watches": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/watch-events": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/watches/<watch_id>": {"DELETE": OPERATOR},
    "api/v1/crawls/<crawl_id>/watches/<watch_id>/renew": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/watches/<watch_id>/restore": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/withdrawals": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/withdrawals/preview": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/withdrawals/<withdrawal_id>": {"DELETE": OPERATOR},
    "api/v1/crawls/<crawl_id>/withdrawals/<withdrawal_id>/rewrite": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/datasets": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/links": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/links/check": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/reports/broken-links": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/reports/broken-links/trend": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/reports/hosts": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/reports/media": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/reports/problems": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/changes": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/changes/<old_id>/<new_id>": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/traps": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/traps/<key>": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/checkpoints": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/share-links": {"GET": OPERATOR, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/share-links/<link_id>": {"DELETE": OPERATOR},
    "api/v1/crawls/<crawl_id>/pages": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/renderings": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/pages/export": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/pages/warc": {"GET": OPERATOR},
    "api/v1/crawls/<crawl_id>/pages/<page_id>/warc": {"GET": OPERATOR},
    "api/v1/crawls/<crawl_id>/pages/<page_id>": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/pages/<page_id>/rendering": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/live-view": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/changes/<old_id>/<new_id>/pictures": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/archive-files": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/diagnosis/export": {"GET": OPERATOR},
    "api/v1/overview/minutes": {"GET": VIEWER},
    "api/v1/pools/<pool_id>/samples": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/hosts": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/directories": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/frontier": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/frontier/export": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/seeds": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/fetch-threads": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/log": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/failure-causes": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/minutes": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/test-scope": {"POST": VIEWER},
    "api/v1/crawls/<crawl_id>/preview": {"POST": VIEWER},
    "api/v1/crawls/<crawl_id>/revisions": {"GET": VIEWER},
    "api/v1/crawls/<crawl_id>/revisions/<revision_number>/revert": {"POST": OPERATOR},
    "api/v1/crawls/<crawl_id>/diagnosis": {"GET": VIEWER},
    "api/v1/bulk-actions": {"POST": OPERATOR},
    "api/v1/bulk-actions/export": {"POST": OPERATOR},
    "api/v1/views": {"GET": VIEWER, "POST": VIEWER},
    "api/v1/views/<view_id>": {"DELETE": VIEWER},
    "api/v1/drafts/test-scope": {"POST": OPERATOR},
    "api/v1/drafts/check": {"POST": OPERATOR},
    "api/v1/drafts/test-fetches": {"POST": OPERATOR},
    "api/v1/drafts/test-fetches/<test_fetch_id>": {"GET": OPERATOR},
    "api/v1/crawls/<crawl_id>/templates": {"POST": OPERATOR},
    "api/v1/templates": {"GET": VIEWER},
    "api/v1/templates/<template_id>": {"GET": VIEWER, "DELETE": OPERATOR},
    "api/v1/templates/<template_id>/crawls": {"POST": OPERATOR},
    "api/v1/search": {"GET": VIEWER},
    "api/v1/hosts": {"GET": VIEWER},
    "api/v1/hosts/<host_id>": {"GET": VIEWER},
    "api/v1/hosts/<host_id>/name-wait": {"GET": VIEWER},
    "api/v1/hosts/<host_id>/block": {"PUT": ADMINISTRATOR, "DELETE": ADMINISTRATOR},
    "api/v1/named-things": {"GET": VIEWER},
    "api/v1/pages": {"GET": VIEWER},
    "api/v1/news": {"GET": VIEWER},
    "api/v1/news/mark-read": {"POST": VIEWER},
    "api/v1/overview": {"GET": VIEWER},
    "api/v1/identity": {"GET": VIEWER, "PUT": ADMINISTRATOR},
    "api/v1/tokens": {"GET": VIEWER, "POST": VIEWER},
    "api/v1/tokens/<token_id>": {"DELETE": VIEWER},
    "api/v1/preferences": {"GET": VIEWER, "PUT": VIEWER},
    "api/v1/crawls/<crawl_id>/robots-exceptions": {"GET": VIEWER, "POST": ADMINISTRATOR},
    "api/v1/crawls/<crawl_id>/robots-exceptions/<exception_id>": {"DELETE": ADMINISTRATOR},
    "api/v1/blocklist": {"GET": VIEWER, "POST": ADMINISTRATOR},
    "api/v1/blocklist/<entry_id>": {"DELETE": ADMINISTRATOR},
    "api/v1/page-cache": {"GET": VIEWER},
    "api/v1/disk": {"GET": VIEWER},
    "api/v1/url-history": {"GET": VIEWER},
    "api/v1/pools": {"GET": VIEWER, "POST": ADMINISTRATOR},
    "api/v1/pools/<pool_id>": {"GET": VIEWER, "PATCH": ADMINISTRATOR},
    "api/v1/pools/<pool_id>/classes": {"POST": ADMINISTRATOR},
    "api/v1/pools/<pool_id>/processes/<process_id>": {"PATCH": ADMINISTRATOR},
    "api/v1/pools/<pool_id>/shares/<share_id>": {"PATCH": ADMINISTRATOR},
    "api/v1/pools/<pool_id>/events": {"GET": VIEWER},
    "api/v1/pools/<pool_id>/versions/<version>": {"GET": VIEWER},
    "api/v1/pools/<pool_id>/what-if": {"POST": VIEWER},
    "api/v1/banker/check": {"POST": VIEWER},
    "api/v1/dns/names": {"GET": VIEWER},
    "api/v1/dns/stats": {"GET": VIEWER},
    "api/v1/dns/failing-names": {"GET": VIEWER},
    "api/v1/dns/domains": {"GET": VIEWER},
    "api/v1/dns/domains/<name>": {"GET": VIEWER},
    "api/v1/dns/evictions": {"GET": VIEWER},
    "api/v1/dns/servers": {"GET": VIEWER},
    "api/v1/dns/servers/<name>": {"PATCH": ADMINISTRATOR},
    "api/v1/dns/flush": {"POST": ADMINISTRATOR},
    "api/v1/dns/names/<name>/<action>": {"POST": OPERATOR},
    "api/v1/dns/names/<name>": {"GET": VIEWER, "DELETE": ADMINISTRATOR},
    "api/v1/capacity-plan": {"GET": VIEWER},
    "api/v1/experiments": {"GET": VIEWER, "POST": OPERATOR},
    "api/v1/experiments/<experiment_id>": {"GET": VIEWER},
    "api/v1/experiments/<experiment_id>/cancel": {"POST": OPERATOR},
    "api/v1/alerts": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "api/v1/alerts/<alert_id>": {
        "GET": ADMINISTRATOR,
        "PUT": ADMINISTRATOR,
        "DELETE": ADMINISTRATOR,
    },
    "api/v1/alerts/<alert_id>/deliveries": {"GET": ADMINISTRATOR},
    "api/v1/alerts/<alert_id>/deliveries/<delivery_id>/resend": {"POST": ADMINISTRATOR},
    "api/v1/alerts/<alert_id>/test": {"POST": ADMINISTRATOR},
    "api/v1/alerts/<alert_id>/restore": {"POST": ADMINISTRATOR},
    "api/v1/weekly-summary": {"GET": VIEWER, "PUT": VIEWER},
    "api/v1/schedules": {"GET": VIEWER},
    "api/v1/access-rules": {"GET": ADMINISTRATOR},
    "api/v1/access-rules/<kind>": {"POST": ADMINISTRATOR},
    "api/v1/access-rules/<kind>/<rule_id>": {"DELETE": ADMINISTRATOR},
    "api/v1/deleted": {"GET": VIEWER},
    "api/v1/deleted/<kind>/<item_id>": {"DELETE": VIEWER},
    "api/v1/deleted/<kind>/<item_id>/restore": {"POST": VIEWER},
    "api/v1/users": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "api/v1/teams": {"GET": ADMINISTRATOR, "POST": ADMINISTRATOR},
    "api/v1/teams/<team_id>": dict.fromkeys(("GET", "PATCH", "DELETE"), ADMINISTRATOR),
    "api/v1/team-rule": {"GET": ADMINISTRATOR, "PUT": ADMINISTRATOR},
    "api/v1/crawls/<crawl_id>/owner": {"PUT": OPERATOR},
    "api/v1/users/<user_id>": {"PATCH": ADMINISTRATOR, "DELETE": ADMINISTRATOR},
    "api/v1/users/<user_id>/shared-items": {"GET": ADMINISTRATOR},
    "api/v1/users/<user_id>/password": {"POST": ADMINISTRATOR},
    "api/v1/activity": {"GET": ADMINISTRATOR},
    "admin/": dict.fromkeys(METHODS, ADMINISTRATOR),
    "admin/allocation/pool/<int:pk>/capacity/": dict.fromkeys(METHODS, ADMINISTRATOR),
    "admin/allocation/pool/<int:pk>/turns/": dict.fromkeys(METHODS, ADMINISTRATOR),
    "admin/allocation/share/<int:pk>/limits/": dict.fromkeys(METHODS, ADMINISTRATOR),
    "admin/allocation/pool/<int:pk>/add-class/": dict.fromkeys(METHODS, ADMINISTRATOR),
}
#: what a program does instead of each page that changes something, for the same role
IN_JSON = {
    "attention/read/": "POST api/v1/news/mark-read",
    "crawls/^list\\.(?P<kind>csv|jsonl)$": {"GET": VIEWER},
    "crawls/bulk/": "POST api/v1/bulk-actions",
    "crawls/undo/": "POST api/v1/bulk-actions",
    "crawls/jobs/<int:pk>/cancel/": "POST api/v1/jobs/<job_id>/cancel",
    "crawls/jobs/<int:pk>/run-again/": "POST api/v1/jobs/<job_id>/run-again",
    "crawls/imports/": "POST api/v1/imports",
    "crawls/inquiries/<int:inquiry_id>/cancel/": "POST api/v1/inquiries/<inquiry_id>/cancel",
    "crawls/inquiries/<int:inquiry_id>/ask-again/": "POST api/v1/inquiries/<inquiry_id>/ask-again",
    "crawls/views/": "POST api/v1/views",
    "crawls/new/": "POST api/v1/crawls",
    "crawls/new/allow/": "POST api/v1/access-rules/<kind>",
    "crawls/new/for/": "POST api/v1/drafts/check",
    "crawls/check/": "POST api/v1/drafts/check",
    "crawls/test-fetch/": "POST api/v1/drafts/test-fetches",
    "crawls/test-scope/": "POST api/v1/drafts/test-scope",
    "crawls/deleted/<str:kind>/<int:pk>/restore/": "POST api/v1/deleted/<kind>/<item_id>/restore",
    "crawls/deleted/<str:kind>/<int:pk>/remove/": "DELETE api/v1/deleted/<kind>/<item_id>",
    "crawls/<int:crawl>/delete/": "DELETE api/v1/crawls/<crawl_id>",
    "crawls/<int:pk>/raise-limit/": "PATCH api/v1/crawls/<crawl_id>",
    "crawls/<int:pk>/download/": "POST api/v1/crawls/<crawl_id>/downloads/<data>",
    "crawls/<int:pk>/extracted/": "POST api/v1/crawls/<crawl_id>/extractions",
    "crawls/new/extractor/": "POST api/v1/extractors",
    "crawls/extractors/new/": "POST api/v1/extractors",
    "crawls/extractors/<int:pk>/": "PATCH api/v1/extractors/<extractor_id>",
    "crawls/extractors/<int:pk>/remove/": "DELETE api/v1/extractors/<extractor_id>",
    "crawls/extractors/<int:pk>/restore/": "POST api/v1/extractors",
    "crawls/extractors/<int:pk>/crawls/": "POST api/v1/extractors/<extractor_id>/crawls",
    "crawls/<int:pk>/graph/": "POST api/v1/crawls/<crawl_id>/graph/compute",
    "crawls/<int:pk>/copies/": "POST api/v1/crawls/<crawl_id>/copies/texts",
    "crawls/<int:pk>/checkpoints/": "POST api/v1/crawls/<crawl_id>/checkpoints",
    "crawls/replay/": "POST api/v1/replay/install",
    "crawls/<int:pk>/wacz/": "POST api/v1/crawls/<crawl_id>/wacz",
    "crawls/<int:pk>/seeds/sources/": "POST api/v1/crawls/<crawl_id>/seed-sources",
    "crawls/<int:pk>/seeds/sources/<int:number>/": "DELETE "
    "api/v1/crawls/<crawl_id>/seed-sources/<source_id>",
    "crawls/<int:pk>/mirror/": "POST api/v1/crawls/<crawl_id>/mirror",
    "crawls/<int:pk>/latest-mirror/": "POST api/v1/crawls/<crawl_id>/latest-mirror",
    "crawls/<int:pk>/pages/<int:url>/watch/": "POST api/v1/crawls/<crawl_id>/watches",
    "crawls/<int:pk>/watches/": "POST api/v1/crawls/<crawl_id>/watches",
    "crawls/<int:pk>/watches/<int:number>/": "DELETE api/v1/crawls/<crawl_id>/watches/<watch_id>",
    "crawls/<int:pk>/withdrawals/": "POST api/v1/crawls/<crawl_id>/withdrawals",
    "crawls/<int:pk>/withdrawals/<int:number>/": "DELETE "
    "api/v1/crawls/<crawl_id>/withdrawals/<withdrawal_id>",
    "crawls/blocklist/": "POST api/v1/blocklist",
    "crawls/blocklist/<int:number>/remove/": "DELETE api/v1/blocklist/<entry_id>",
    "crawls/<int:pk>/scope/": "PATCH api/v1/crawls/<crawl_id>",
    "crawls/<int:pk>/scope/check/": "POST api/v1/crawls/<crawl_id>/test-scope",
    "crawls/<int:pk>/revert/": "POST api/v1/crawls/<crawl_id>/revisions/<revision_number>/revert",
    "crawls/<int:pk>/template/": "POST api/v1/crawls/<crawl_id>/templates",
    "crawls/templates/<int:pk>/remove/": "DELETE api/v1/templates/<template_id>",
    "crawls/<int:pk>/robots/": "POST api/v1/crawls/<crawl_id>/robots-exceptions",
    "crawls/<int:pk>/owner/": "PUT api/v1/crawls/<crawl_id>/owner",
    "crawls/<int:pk>/share/": "POST api/v1/crawls/<crawl_id>/share-links",
    "crawls/<int:pk>/share/<int:number>/revoke/": "DELETE "
    "api/v1/crawls/<crawl_id>/share-links/<link_id>",
    "crawls/<int:pk>/traps/": "POST api/v1/crawls/<crawl_id>/traps/<key>",
    "crawls/<int:pk>/schedule/": "PUT api/v1/crawls/<crawl_id>/schedule",
    "crawls/schedules/many/": "POST api/v1/bulk-actions",
    "crawls/<int:pk>/frontier/": "POST api/v1/crawls/<crawl_id>/frontier",
    "crawls/<int:pk>/seeds/": "POST api/v1/crawls/<crawl_id>/seeds",
    "crawls/<int:pk>/runs/": "PUT api/v1/crawls/<crawl_id>/retention",
    "crawls/<int:pk>/runs/<int:number>/delete/": "DELETE api/v1/crawls/<crawl_id>/runs/"
    "<run_number>",
    "crawls/<int:pk>/retry/": "POST api/v1/crawls/<crawl_id>/retry-failed",
    "crawls/<int:crawl>/max/": "PATCH api/v1/crawls/<crawl_id>",
    STEERING: "POST api/v1/crawls/<crawl_id>/start",
    "hosts/<int:pk>/block/": "PUT api/v1/hosts/<host_id>/block",
    "account/tokens/": "POST api/v1/tokens",
    "account/tokens/<int:pk>/revoke/": "DELETE api/v1/tokens/<token_id>",
    "account/preferences/": "PUT api/v1/preferences",
    "account/refresh/": "PUT api/v1/preferences",
    "account/look/": "PUT api/v1/preferences",
    "collections/new/": "POST api/v1/collections",
    "collections/add/": "POST api/v1/collections/<collection_id>/members",
    "collections/<int:pk>/edit/": "PATCH api/v1/collections/<collection_id>",
    "collections/<int:pk>/delete/": "DELETE api/v1/collections/<collection_id>",
    "collections/<int:pk>/add-crawl/": "POST api/v1/collections/<collection_id>/members",
    "collections/<int:pk>/remove/": "DELETE api/v1/collections/<collection_id>/members/<member_id>",
    "collections/<int:pk>/undo/": "POST api/v1/collections/<collection_id>/members",
    "collections/<int:pk>/share/": "POST api/v1/collections/<collection_id>/share-links",
    "collections/<int:pk>/share/<int:number>/revoke/": "DELETE "
    "api/v1/collections/<collection_id>/share-links/<link_id>",
    "collections/<int:pk>/wacz/": "POST api/v1/collections/<collection_id>/wacz",
    "alerts/": "POST api/v1/alerts",
    "alerts/<int:pk>/": "PUT api/v1/alerts/<alert_id>",
    "alerts/<int:pk>/test/": "POST api/v1/alerts/<alert_id>/test",
    "alerts/weekly-summary/": "PUT api/v1/weekly-summary",
    "administration/identity/": "PUT api/v1/identity",
    "administration/access/": "POST api/v1/access-rules/<kind>",
    "administration/access/<str:kind>/<int:pk>/remove/": "DELETE api/v1/access-rules/<kind>/"
    "<rule_id>",
    "administration/teams/": "POST api/v1/teams",
    "administration/teams/rule/": "PUT api/v1/team-rule",
    "administration/teams/<int:pk>/": "PATCH api/v1/teams/<team_id>",
    "administration/users/": "POST api/v1/users",
    "administration/users/<int:pk>/": "PATCH api/v1/users/<user_id>",
    "alerts/<int:pk>/deliveries/<int:delivery>/again/": "POST api/v1/alerts/<alert_id>/"
    "deliveries/<delivery_id>/resend",
    "resources/<int:pool>/shares/<int:share>/": "PATCH api/v1/pools/<pool_id>/shares/<share_id>",
    "resources/<int:pool>/limits/<slug:page>/": "PATCH api/v1/pools/<pool_id>",
    "resources/new/": "POST api/v1/pools",
    "resources/what-if/": "POST api/v1/banker/check",
    "dns/flush/": "POST api/v1/dns/flush",
    "dns/limit/": "PATCH api/v1/dns/servers/<name>",
    "dns/^(?P<deed>retry|pin|unpin)/$": "POST api/v1/dns/names/<name>/<action>",
    "experiments/": "POST api/v1/experiments",
    "experiments/<int:pk>/cancel/": "POST api/v1/experiments/<experiment_id>/cancel",
}
#: of each user, until he changes it
PASSWORD = "known to all"
NEW_PASSWORD = ("new_password1", "new_password2")
ORDER = {"name": "another", "seeds": ["http://127.0.0.1:8900/"]}
LISTENER = {"name": "Chat", "url": "http://127.0.0.1:8900/", "events": ["finished"]}
#: what to send an endpoint that would refuse nothing to any role
BODIES: dict[str, dict[str, object]] = {
    "POST api/v1/news/mark-read": {"until": "2026-01-01T00:00:00Z"},
    "POST crawls/<int:pk>/share/": {"days": "7"},
    "GET api/v1/crawls/<crawl_id>/changes": {"against": 1},
    "GET api/v1/crawls/<crawl_id>/extractions/previews": {"rules": "name = h1"},
    "GET api/v1/crawls/<crawl_id>/link-changes": {"against": 1},
    "GET api/v1/url-history": {"url": "http://127.0.0.1:8900/"},
    "POST api/v1/crawls": ORDER,
    "PATCH api/v1/crawls/<crawl_id>": {"max_pages": 5},
    "POST api/v1/crawls/<crawl_id>/frontier": {"action": "first"},
    "POST api/v1/crawls/<crawl_id>/seeds": {"seeds": ["http://127.0.0.1:8900/more"]},
    "PUT api/v1/crawls/<crawl_id>/tags": {"tags": ["weekly"]},
    "GET api/v1/named-things": {"q": "abc"},
    "GET api/v1/pages": {"q": "abc"},
    "GET api/v1/search": {"q": "abc"},
    "POST api/v1/bulk-actions": {"action": "pause", "filter": {}},
    "POST api/v1/bulk-actions/export": {"filter": {}},
    "POST api/v1/views": {"name": "Failed", "query": "state=failed"},
    "POST api/v1/drafts/test-scope": {"order": ORDER, "urls": ["http://127.0.0.1:8900/x"]},
    "POST api/v1/drafts/check": ORDER,
    "POST api/v1/drafts/test-fetches": {**ORDER, "seeds": ["ftp://127.0.0.1:8900/"]},
    "PUT api/v1/hosts/<host_id>/block": {"reason": "asked for"},
    "PUT api/v1/identity": {"product_token": "crawlsite", "contact_url": "mailto:ops@example.org"},
    "POST api/v1/tokens": {"name": "nightly"},
    "POST account/password/": {
        "old_password": PASSWORD,
        **dict.fromkeys(NEW_PASSWORD, "eleven and more"),
    },
    "POST account/preferences/": {
        "theme": "dark",
        "density": "compact",
        "rows": "50",
        "refresh_seconds": "5",
        "time_zone": "UTC",
    },
    "POST account/refresh/": {"refresh_seconds": "5"},
    "POST account/look/": {"theme": "dark"},
    "PUT api/v1/preferences": {"refresh_seconds": 5},
    "POST api/v1/crawls/<crawl_id>/templates": {"name": "Manuals"},
    "POST api/v1/templates/<template_id>/crawls": {"name": "Manuals of June"},
    "POST collections/new/": {"name": "New"},
    "POST collections/add/": {"name": "New"},
    "POST collections/<int:pk>/edit/": {"name": "Edited"},
    "POST api/v1/collections": {"name": "New"},
    "GET api/v1/collections/<collection_id>/captures": {"url": "http://127.0.0.1:8900/"},
    "POST api/v1/alerts": LISTENER,
    "PUT api/v1/alerts/<alert_id>": LISTENER,
    "PUT api/v1/weekly-summary": {"is_on": False},
    "POST api/v1/users": {"name": "ada"},
    "POST administration/teams/": {"name": "maps"},
    "POST administration/teams/<int:pk>/": {"members": ""},
    "POST api/v1/teams": {"name": "maps"},
    "PATCH api/v1/teams/<team_id>": {"members": []},
    "PUT api/v1/team-rule": {"own_crawls_only": True},
    "POST crawls/<int:pk>/owner/": {"owner": "operator"},
    "PUT api/v1/crawls/<crawl_id>/owner": {"owner": "operator"},
    "PUT api/v1/crawls/<crawl_id>/retention": {"keep_runs": 3},
    "PUT api/v1/crawls/<crawl_id>/schedule": {"cron": "30 2 * * *"},
    "PATCH api/v1/pools/<pool_id>": {"capacity": {"memory": 1024}},
    "PATCH api/v1/pools/<pool_id>/processes/<process_id>": {"priority": 1},
    "POST resources/new/": {"name": "books", **{f"capacity.{one.key}": 1 for one in CLASSES}},
    "POST api/v1/pools": {"name": "press", "capacity": {one.key: 1 for one in CLASSES}},
    "PATCH api/v1/pools/<pool_id>/shares/<share_id>": {"limits": {"memory": 512}},
    "POST api/v1/pools/<pool_id>/classes": {
        "key": "gold",
        "unit": "bar",
        "sentence": "Gold.",
        "capacity": 1,
    },
    "POST api/v1/crawls/<crawl_id>/traps/<key>": {"verdict": "ban"},
    "POST api/v1/crawls/<crawl_id>/test-scope": {"urls": ["http://127.0.0.1:8900/"]},
    "POST api/v1/crawls/<crawl_id>/robots-exceptions": {
        "host": "a.test",
        "reason": "agreed",
        "hours": 1,
    },
    "POST api/v1/crawls/<crawl_id>/seed-sources": {"kind": "folder"},
    "POST api/v1/crawls/<crawl_id>/extractions": {"rules": {"name": "h1"}},
    "POST api/v1/extractors": {"name": "Headings", "rules": {"name": "h1"}},
    "PATCH api/v1/extractors/<extractor_id>": {"rules": {"name": "h2"}},
    "POST crawls/extractors/new/": {"name": "Headings", "rules": "name = h1"},
    "POST crawls/extractors/<int:pk>/": {"rules": "name = h2"},
    "POST crawls/<int:pk>/extracted/": {"rules": "name = h1"},
    "POST crawls/<int:pk>/download/": {"file": "text.csv"},
    "POST api/v1/crawls/<crawl_id>/copies/texts": {"text": "five words in a row"},
    "POST crawls/<int:pk>/copies/": {"text": "five words in a row"},
    "POST api/v1/crawls/<crawl_id>/watches": {"kind": "host", "text": "a.test"},
    "POST api/v1/crawls/<crawl_id>/withdrawals": {
        "kind": "page",
        "text": "http://127.0.0.1:8900/",
        "reason": "asked for",
    },
    "POST api/v1/crawls/<crawl_id>/withdrawals/preview": {"kind": "host", "text": "a.test"},
    "POST api/v1/imports": {"files": ["a.warc"]},
    "POST api/v1/blocklist": {"kind": "host", "text": "a.test", "reason": "asked for"},
    "POST api/v1/dns/flush": {"scope": "all"},
    "PATCH api/v1/dns/servers/<name>": {"per_second": 100},
    "POST experiments/": {"policy": "both", "requests": 10, "bound_seconds": 1, "seed": 1},
    "POST api/v1/banker/check": {"available": [1], "maximum": [[1]], "allocation": [[0]]},
}
#: where nothing is found even by those who may look
EMPTY = {
    "account/tokens/<int:pk>/revoke/",
    "crawls/templates/<int:pk>/remove/",
    "crawls/deleted/<str:kind>/<int:pk>/restore/",
    "crawls/deleted/<str:kind>/<int:pk>/remove/",
    "api/v1/deleted/<kind>/<item_id>",
    "api/v1/deleted/<kind>/<item_id>/restore",
    "api/v1/extractors/<extractor_id>",
    "api/v1/extractors/<extractor_id>/crawls",
    "crawls/extractors/<int:pk>/",
    "crawls/extractors/<int:pk>/remove/",
    "crawls/extractors/<int:pk>/crawls/",
    "api/v1/templates/<template_id>",
    "api/v1/templates/<template_id>/crawls",
    "api/v1/tokens/<token_id>",
    "api/v1/views/<view_id>",
    "crawls/test-fetch/<int:inquiry_id>/",
    "api/v1/drafts/test-fetches/<test_fetch_id>",
    "api/v1/crawls/<crawl_id>/revisions/<revision_number>/revert",
    "api/v1/collections/<collection_id>/members/<member_id>",
    "api/v1/collections/<collection_id>/share-links/<link_id>",
    "api/v1/collections/<collection_id>/wacz/export",
    "shared/collections/<slug:token>/",
    "shared/collections/<slug:token>/pages/<int:number>/",
    "shared/collections/<str:token>/stored/<int:number>/",
    "alerts/<int:pk>/",
    "alerts/<int:pk>/deliveries/<int:delivery>/again/",
    "api/v1/alerts/<alert_id>",
    "alerts/<int:pk>/test/",
    "administration/access/<str:kind>/<int:pk>/remove/",
    "administration/users/<int:pk>/",
    "api/v1/access-rules/<kind>/<rule_id>",
    "api/v1/users/<user_id>",
    "api/v1/dns/servers/<name>",
    "api/v1/users/<user_id>/password",
    "api/v1/users/<user_id>/shared-items",
    "api/v1/access-rules/<kind>",
    "api/v1/alerts/<alert_id>/deliveries",
    "api/v1/alerts/<alert_id>/deliveries/<delivery_id>/resend",
    "api/v1/alerts/<alert_id>/test",
    "api/v1/alerts/<alert_id>/restore",
    "api/v1/crawls/<crawl_id>/schedule",
    "crawls/<int:pk>/share/<int:number>/revoke/",
    "crawls/^(?P<pk>[0-9]{1,18})/link-changes\\.(?P<kind>csv|jsonl)$",
    "crawls/<int:pk>/copies/text/<int:text>/",
    "crawls/<int:pk>/copies/text/<int:text>/<int:new>/",
    "crawls/<int:pk>/copies/passages/<int:old>/<int:new>/",
    "api/v1/crawls/<crawl_id>/copies/texts/<text_id>",
    "api/v1/crawls/<crawl_id>/copies/texts/<text_id>/<page_id>",
    "api/v1/crawls/<crawl_id>/copies/passages/<old_id>/<new_id>",
    "crawls/^(?P<pk>[0-9]{1,18})/graph\\.(?P<kind>csv|jsonl|parquet|graphml)$",
    "api/v1/crawls/<crawl_id>/graph/pages",
    "api/v1/crawls/<crawl_id>/graph/hosts",
    "api/v1/crawls/<crawl_id>/graph/components",
    "api/v1/crawls/<crawl_id>/graph/drawings/<drawing_number>",
    "api/v1/crawls/<crawl_id>/withdrawals",
    "api/v1/crawls/<crawl_id>/withdrawals/<withdrawal_id>",
    "api/v1/crawls/<crawl_id>/withdrawals/<withdrawal_id>/rewrite",
    "api/v1/crawls/<crawl_id>/seed-sources/<source_id>",
    "api/v1/crawls/<crawl_id>/watches/<watch_id>",
    "api/v1/crawls/<crawl_id>/watches/<watch_id>/renew",
    "api/v1/crawls/<crawl_id>/watches/<watch_id>/restore",
    "crawls/<int:pk>/pages/<int:url>/watch/",
    "watches/<str:token>/feed.atom",
    "news/<str:token>/feed.atom",
    "api/v1/jobs/<job_id>",
    "api/v1/jobs/<job_id>/cancel",
    "api/v1/jobs/<job_id>/run-again",
    "crawls/jobs/<int:pk>/cancel/",
    "crawls/jobs/<int:pk>/run-again/",
    "api/v1/imports/<import_id>",
    "api/v1/imports/<import_id>/cancel",
    "crawls/inquiries/<int:inquiry_id>/cancel/",
    "crawls/inquiries/<int:inquiry_id>/ask-again/",
    "api/v1/inquiries/<inquiry_id>/cancel",
    "api/v1/inquiries/<inquiry_id>/ask-again",
    "shared/<slug:token>/",
    "stored/<str:token>/<int:number>/",
    "api/v1/crawls/<crawl_id>/share-links/<link_id>",
    "api/v1/dns/names/<name>",
    "api/v1/blocklist/<entry_id>",
    "api/v1/crawls/<crawl_id>/robots-exceptions/<exception_id>",
    "crawls/<int:pk>/pages/<int:url>/",
    "crawls/<int:pk>/pages/<int:url>/content/",
    "crawls/<int:pk>/pages/<int:url>/picture/<slug:kind>/",
    "crawls/<int:pk>/pages/<int:url>/rendering/",
    "api/v1/crawls/<crawl_id>/pages/<page_id>/rendering",
    "crawls/<int:pk>/pages/<int:url>/fields/",
    "crawls/<int:pk>/pages/<int:url>/fields/page/",
    "crawls/<int:pk>/pages/<int:url>/record/",
    "crawls/<int:pk>/pages/<int:url>/document/",
    "crawls/<int:pk>/pages.warc.gz",
    "api/v1/crawls/<crawl_id>/pages/warc",
    "api/v1/crawls/<crawl_id>/wacz/export",
    "api/v1/crawls/<crawl_id>/mirror/export",
    "api/v1/crawls/<crawl_id>/latest-mirror/export",
    "api/v1/crawls/<crawl_id>/pages/<page_id>/tables",
    TABLE,
    "api/v1/crawls/<crawl_id>/pages/<page_id>/warc",
    "api/v1/crawls/<crawl_id>/pages/<page_id>",
    "crawls/<int:pk>/archive/<int:number>/",
    "crawls/<int:pk>/compare/<int:old>/<int:new>/",
    "crawls/<int:pk>/compare/<int:old>/<int:new>/pictures/",
    "api/v1/crawls/<crawl_id>/changes/<old_id>/<new_id>/pictures",
    "api/v1/crawls/<crawl_id>/changes/<old_id>/<new_id>",
}
#: the queues' pages have no table behind them, and the "view on site" links may lead to those
OF_NO_TABLE = ("admin/django_rq/", "admin/r/")
#: the admin site's way in and out
OF_THE_ADMIN_SITE = {"admin/login/", "admin/logout/", "admin/password_change/"}


def routes(patterns, prefix: str = "", path: str = "/") -> Iterator[tuple[str, str]]:
    """Every route of the URL map as it is written, and as a path with %(name)s for what varies."""
    for pattern in patterns:
        route, form = (
            prefix + str(pattern.pattern),
            path + normalize(pattern.pattern.regex.pattern)[0][0],
        )
        if isinstance(pattern, URLPattern):
            yield route, form
        else:
            yield from routes(pattern.url_patterns, route, form)


PATHS = dict(routes(get_resolver().url_patterns))
ADMIN_ROUTES = sorted(
    route for route in PATHS if route.startswith("admin/") and route not in OF_THE_ADMIN_SITE
)


@pytest.fixture
def crawl(db) -> CrawlJob:
    """A crawl with a run, in the only pool."""
    make_roles()
    pool = create_pool(name="default", classes=CLASSES)
    ensure_share(pool=pool.pk, ref="team/news", name="news")
    Team.objects.create(name="news")
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    crawl = create_crawl({"name": "a crawl", "seeds": ["http://127.0.0.1:8900/"]})
    start_run(crawl)
    make_experiment(requests=10, bound_seconds=1, seed=1, policies=["naive"])
    create_collection(CollectionFields("a collection"), by=None)
    return crawl


@pytest.fixture
def clients(crawl) -> dict[Role, Client]:
    """A browser of each role; the administrator is no superuser, but staff with the role's
    group."""
    clients = {role: Client() for role in Role}
    for role in list(Role)[1:]:
        name = role.name.lower()
        user = User.objects.create_user(name, password=PASSWORD, is_staff=role == ADMINISTRATOR)
        user.groups.add(Group.objects.get(name=name))
        clients[role].force_login(user)
    return clients


@pytest.fixture
def ask(clients, crawl, settings, tmp_path):
    """Return a function that asks as a role and undoes what came of it: `ask(VIEWER, "POST",
    "crawls/")`.
    """
    settings.IMPORT_DIR = tmp_path
    (tmp_path / "a.warc").touch()
    pool, experiment, process, host = (
        Pool.objects.get(),
        Experiment.objects.get(),
        Process.objects.get(),
        Host.objects.get(),
    )
    values = {
        "pool": pool.pk,
        "pool_id": pool.pk,
        "process_id": process.pk,
        "share": Share.objects.get().pk,
        "share_id": Share.objects.get().pk,
        "team_id": Team.objects.get().pk,
        "experiment_id": experiment.pk,
        "version": 1,
    }
    owners = (
        ("/pool/", pool.pk),
        ("allocation/share/", values["share"]),
        ("administration/teams/", values["team_id"]),
        ("/collections/", Collection.objects.get().pk),
        ("/experiments/", experiment.pk),
        ("//hosts/", host.pk),
    )
    values |= {
        "host_id": host.pk,
        "verb": "pause",
        "deed": "pin",
        "action": "pin",
        "name": "nobody.example",
        "kind": "csv",
        "data": "text",
        "ending": "txt",
        "document": "glossary",
        "page": "capacity",
        "key": "1",
        "number": "1",
        "run_number": "1",
        "revision_number": "1",
        "drawing_number": "0",
        "text": "1",
        "text_id": "1",
    }

    def ask(role: Role, method: str, route: str):
        names = re.findall(r"%\((\w+)\)s", PATHS[route])
        pk = next((pk for part, pk in owners if part in f"//{route}"), crawl.pk)
        kind = {"kind": "wacz"} if "/jobs/" in route else {}
        path = PATHS[route] % {name: (values | kind).get(name, pk) for name in names}
        is_json = route.startswith("api/") and method != "GET"
        body = {"data": BODIES.get(f"{method} {route}", {})} | (
            {"content_type": "application/json"} if is_json else {}
        )
        client = clients[role]
        before, cookies = transaction.savepoint(), copy(client.cookies)
        answer = getattr(client, method.lower())(path, **body)
        if answer.streaming:
            b"".join(answer.streaming_content)  # or it keeps its place among the downloads
        transaction.savepoint_rollback(before)
        client.cookies = cookies
        return answer

    return ask


def refused(answer, role: Role, route: str) -> bool:
    """Without a log-in pages redirect to it and endpoints answer 401; users get 403; the admin site
    treats all but staff as logged out.
    """
    if route.startswith("admin/"):
        return answer.status_code in (401, 403) or leads_to_log_in(answer)
    if role == NOBODY:
        return leads_to_log_in(answer) or (
            answer.status_code == 401 and (route.startswith("api/") or route == "metrics")
        )
    return answer.status_code == 403


def leads_to_log_in(answer) -> bool:
    return answer.status_code == 302 and "login/?next=" in answer.url


def served(answer, route: str) -> bool:
    """Whatever came of it: not refused, not misunderstood, not lost, not broken."""
    fine = (
        answer.status_code < 400
        or answer.status_code == 409
        or (answer.status_code == 404 and route in EMPTY)
    )
    return fine and not leads_to_log_in(answer)


def test_each_role_may_do_what_those_before_it_may():
    viewer, operator, administrator = (set(ROLES[role.name.lower()]) for role in list(Role)[1:])

    assert viewer < operator < administrator


def test_every_address_has_its_row():
    ours = {route for route in PATHS if not route.startswith("admin/")}

    assert not ours - set(ROUTES)
    assert not set(ROUTES) - set(PATHS)


def test_whatever_a_page_changes_a_program_of_that_role_can_change():
    pages = {
        route: methods["POST"]
        for route, methods in ROUTES.items()
        if "POST" in methods and not route.startswith(("api/", "admin/", "log"))
    }
    del pages["account/password/"]  # a token must not change it
    asked = {page: tuple(IN_JSON[page].split(" ", 1)) for page in pages.keys() & IN_JSON.keys()}

    assert pages.keys() - IN_JSON.keys() == set()
    assert {page: ROUTES[route].get(method) for page, (method, route) in asked.items()} == pages


def misfits(ask, role: Role, asked: Callable[[Role], bool]) -> list[str]:
    """The addresses at which a role was answered otherwise than `asked` says of its least role."""
    found = []
    for route, methods in ROUTES.items():
        for method in (method for method, least in methods.items() if asked(least)):
            answer = ask(role, method, route)
            is_open = role >= methods[method]
            if not (served(answer, route) if is_open else refused(answer, role, route)):
                found.append(
                    f"{method} {route}: {answer.status_code} {answer.headers.get('Location', '')}"
                )
    return found


@pytest.mark.parametrize("role", Role)
def test_the_least_role_is_served_and_all_before_it_are_refused(ask, role):
    assert misfits(ask, role, lambda least: role <= least) == []


@pytest.mark.drill  # a role has all permissions of those before it: the first test of this file
@pytest.mark.parametrize("role", [VIEWER, OPERATOR, ADMINISTRATOR])
def test_whoever_may_more_is_served_as_well(ask, role):
    assert misfits(ask, role, lambda least: role > least) == []


def test_methods_without_a_row_do_nothing_for_anybody(ask):
    found = []
    for route, methods in ROUTES.items():
        who = NOBODY if NOBODY in methods.values() else ADMINISTRATOR
        answers = {
            method: ask(who, method, route).status_code
            for method in METHODS
            if method not in methods
        }
        if not (set(answers.values()) <= {405} or route in EMPTY):
            found.append((route, answers))

    assert found == []


#: viewers stand between the two, and are no staff either
@pytest.mark.parametrize("role", [NOBODY, OPERATOR, pytest.param(VIEWER, marks=pytest.mark.drill)])
def test_the_admin_site_is_for_administrators(ask, role):
    for route in ADMIN_ROUTES:
        for method in ("GET", "POST"):
            answer = ask(role, method, route)
            assert refused(answer, role, route), (
                f"{method} {route}: {answer.status_code} {answer.headers.get('Location', '')}"
            )


@pytest.fixture
def waiting_job():
    """A job in the queue of shifts, which those who may not must not remove."""
    queue = Queue("shifts", connection=django_rq.get_connection("shifts"))
    queue.empty()
    queue.enqueue("crawling.fetching.worker.jobs.run_shift", 1, 1)
    yield queue
    queue.empty()


@pytest.mark.parametrize("role", [VIEWER, OPERATOR])
def test_staff_with_a_lesser_role_neither_see_nor_empty_the_queues(clients, role, waiting_job):
    User.objects.filter(username=role.name.lower()).update(is_staff=True)
    pages = [route for route in PATHS if route.startswith("admin/django_rq/")]
    values = {"queue_index": 1, "scheduler_index": 0, "connection_index": 0}

    for route in pages:
        names = re.findall(r"%\((\w+)\)s", PATHS[route])
        path = PATHS[route] % {name: values.get(name, waiting_job.job_ids[0]) for name in names}
        for method in ("get", "post"):
            assert getattr(clients[role], method)(path).status_code == 403, path
    assert waiting_job.count == 1


def test_administrators_empty_the_queues(clients, waiting_job):
    queues = [
        f"/admin/django_rq/dashboard/queues/{number}/empty/"
        for number in range(len(settings.RQ_QUEUES))
    ]

    assert clients[ADMINISTRATOR].get("/admin/django_rq/dashboard/").status_code == 200
    assert [clients[ADMINISTRATOR].post(path).status_code for path in queues] == [302] * len(queues)
    assert waiting_job.count == 0


def test_the_admin_site_breaks_at_no_address_for_administrators(ask):
    answers = {
        route: ask(ADMINISTRATOR, "GET", route).status_code
        for route in ADMIN_ROUTES
        if not route.startswith(OF_NO_TABLE)
    }

    assert {route: status for route, status in answers.items() if status >= 500} == {}
    lists = {
        route: answers[route]
        for route in answers
        if route.count("/") == 3 and route.startswith(("admin/allocation/", "admin/crawling/"))
    }
    assert len(lists) >= 13
    assert set(lists.values()) <= {200, 302}  # there is one identity: its list leads to it
