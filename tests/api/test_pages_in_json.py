"""A program can have all that a page shows: every page with the operations that give the same.

A new page needs its line here, or the first test fails.
"""

from __future__ import annotations

import json
import zipfile
from io import BytesIO

import pytest

from crawling.installation.pools import default_pool
from crawling.models import Page
from crawling.uses.alerts.models import Listener
from tests.api.test_access import description
from tests.api.test_findings import crawled, run, site  # noqa: F401  # fixtures
from tests.test_roles import DOWNLOAD, ROUTES, TABLE

#: pages that show nothing of their own: forms to log in, probes of machines, what is for visitors
WITHOUT = {
    "about-this-crawler/",
    "account/password/",
    "help/",
    "help/<slug:document>/",
    "healthz",
    "login/",
    "metrics",
    "readyz",
    "shared/<slug:token>/",
    "shared/collections/<slug:token>/",
    "shared/collections/<slug:token>/pages/<int:number>/",
    "shared/collections/<str:token>/stored/<int:number>/",
    "collections/new/",
    "stored/<str:token>/<int:number>/",
    "watches/<str:token>/feed.atom",
    "news/<str:token>/feed.atom",
}
SHOWN = {
    "": "get_overview list_news list_overview_minutes list_pools get_health",
    "attention/": "get_overview list_news list_pools get_health",
    "attention/count/": "get_overview list_news list_pools get_health",
    "overview.csv": "list_overview_minutes",
    "health/": "get_health",
    "crawls/": "list_crawls",
    "crawls/^list\\.(?P<kind>csv|jsonl)$": "list_crawls",
    "crawls/imports/": "list_imports",
    "crawls/jobs/": "list_jobs",
    "crawls/new/": "check_draft test_draft_scope list_templates",
    "crawls/test-fetch/<int:inquiry_id>/": "get_test_fetch",
    "crawls/page-cache/": "get_page_cache",
    "crawls/schedules/": "list_schedules",
    "crawls/schedules/dates/": "get_crawl_schedule",
    "crawls/schedules/many/": "list_schedules",
    "crawls/templates/": "list_templates",
    "crawls/url/": "get_url_history",
    "crawls/blocklist/": "list_blocklist_entries",
    "crawls/deleted/": "list_deleted_items",
    "crawls/deleted/<str:kind>/<int:pk>/remove/": "list_deleted_items",
    "crawls/<int:crawl>/delete/": "get_crawl",
    "crawls/<int:pk>/": "get_crawl get_crawl_diagnosis get_rendering_counts list_fetch_threads "
    "list_failure_causes "
    "list_crawl_traps list_log_lines list_crawl_hosts list_crawl_pages list_news "
    "list_broken_link_trend",
    "crawls/<int:pk>/settings/": "get_crawl get_crawl_schedule get_crawl_retention",
    "crawls/<int:pk>/owner/": "get_crawl",
    "crawls/<int:pk>/raise-limit/": "get_crawl",
    "crawls/<int:pk>/share/": "list_share_links",
    "crawls/<int:pk>/runs/": "list_crawl_runs get_crawl_retention",
    "crawls/<int:pk>/runs/<int:number>/delete/": "list_crawl_runs",
    "crawls/<int:pk>/pages/": "list_crawl_pages",
    "crawls/<int:pk>/pages/<int:url>/": "get_crawl_page",
    "crawls/<int:pk>/pages/<int:url>/content/": "export_page_warc",
    "crawls/<int:pk>/pages/<int:url>/picture/<slug:kind>/": "export_page_warc",
    "crawls/<int:pk>/pages/<int:url>/rendering/": "get_page_rendering",
    "crawls/<int:pk>/live-view/": "get_live_view",
    "crawls/<int:pk>/shown/": "get_crawl_page",
    "crawls/<int:pk>/pages/<int:url>/fields/": "get_rule_preview",
    "crawls/<int:pk>/pages/<int:url>/fields/page/": "get_rule_preview",
    "crawls/<int:pk>/pages/<int:url>/record/": "export_page_warc",
    "crawls/<int:pk>/pages/<int:url>/document/": "export_page_warc",
    "crawls/^(?P<pk>[0-9]{1,18})/pages\\.(?P<kind>csv|jsonl)$": "export_crawl_pages",
    "crawls/<int:pk>/pages.warc.gz": "export_crawl_warc",
    "crawls/<int:pk>/tree/": "list_crawl_directories",
    "crawls/<int:pk>/tree.csv": "list_crawl_directories",
    "crawls/<int:pk>/duplicates/": "list_crawl_duplicates",
    "crawls/^(?P<pk>[0-9]{1,18})/duplicates\\.(?P<kind>csv|jsonl)$": "list_crawl_duplicates",
    "crawls/<int:pk>/archive/": "list_archive_files list_datasets",
    "crawls/<int:pk>/archive/<int:number>/": "export_crawl_warc",
    "crawls/replay/": "get_player",
    "crawls/captures/": "get_url_history",
    "crawls/<int:pk>/wacz/": "get_crawl_wacz",
    "crawls/<int:pk>/run.wacz": "export_crawl_wacz",
    "crawls/<int:pk>/mirror/": "get_crawl_mirror",
    "crawls/<int:pk>/mirror.zip": "export_crawl_mirror",
    "crawls/<int:pk>/latest-mirror/": "get_latest_mirror",
    "crawls/<int:pk>/latest-mirror.zip": "export_latest_mirror",
    TABLE: "get_page_tables",
    "crawls/<int:pk>/download/": "list_downloads",
    DOWNLOAD: "export_download",
    "crawls/<int:pk>/replay/": "export_crawl_wacz",
    "crawls/<int:pk>/withdrawals/": "list_withdrawals",
    "crawls/<int:pk>/freshness/": "get_freshness list_freshness_pages",
    "crawls/^(?P<pk>[0-9]{1,18})/freshness\\.(?P<kind>csv|jsonl)$": "list_freshness_pages",
    "crawls/<int:pk>/watches/": "list_watches list_watch_events",
    "crawls/<int:pk>/copies/": "list_copies",
    "crawls/<int:pk>/copies/text/<int:text>/": "list_text_copies",
    "crawls/<int:pk>/copies/text/<int:text>/<int:new>/": "get_text_passages",
    "crawls/<int:pk>/copies/passages/<int:old>/<int:new>/": "get_passages",
    "crawls/<int:pk>/graph/": "get_link_graph list_graph_pages list_graph_hosts "
    "list_graph_components get_host_drawing",
    "crawls/^(?P<pk>[0-9]{1,18})/graph\\.(?P<kind>csv|jsonl|parquet|graphml)$": "list_graph_pages "
    "list_graph_hosts",
    "crawls/<int:pk>/structured-data/": "list_structured_data get_structured_data_kinds",
    "crawls/^(?P<pk>[0-9]{1,18})/structured-data\\.(?P<kind>csv|jsonl|parquet)$": (
        "list_structured_data"
    ),
    "crawls/<int:pk>/link-changes/": "list_link_changes",
    "crawls/^(?P<pk>[0-9]{1,18})/link-changes\\.(?P<kind>csv|jsonl)$": "list_link_changes",
    "crawls/<int:pk>/checkpoints/": "list_crawl_checkpoints",
    "crawls/<int:pk>/hosts/": "list_crawl_hosts",
    "crawls/<int:pk>/frontier/": "list_frontier_urls",
    "crawls/<int:pk>/frontier.txt": "export_frontier_urls",
    "crawls/<int:pk>/not-fetched/": "list_not_fetched_urls",
    "crawls/^(?P<pk>[0-9]{1,18})/not-fetched\\.(?P<kind>csv|jsonl)$": "list_not_fetched_urls",
    "crawls/<int:pk>/lag/": "list_datasets",
    "crawls/<int:pk>/links/counted/": "list_link_problems",
    "crawls/<int:pk>/links/": "list_crawl_links list_link_problems list_broken_links "
    "list_media_files list_linked_hosts list_broken_link_trend",
    "crawls/<int:pk>/fixes/": "list_link_problems",
    "crawls/^(?P<pk>[0-9]{1,18})/fixes\\.(?P<kind>csv|jsonl)$": "list_link_problems",
    "crawls/^(?P<pk>[0-9]{1,18})/link-check\\.(?P<kind>csv|jsonl|xml)$": "list_link_problems",
    "crawls/<int:pk>/seeds/": "get_crawl",
    "crawls/<int:pk>/scope/": "get_crawl list_crawl_revisions list_robots_exceptions",
    "crawls/<int:pk>/log/": "list_log_lines",
    "crawls/^(?P<pk>[0-9]{1,18})/log\\.(?P<ending>txt|jsonl)$": "list_log_lines",
    "crawls/<int:pk>/compare/": "list_run_changes",
    "crawls/<int:pk>/compare/<int:old>/<int:new>/": "get_page_diff",
    "crawls/<int:pk>/compare/<int:old>/<int:new>/pictures/": "get_picture_diff",
    "crawls/<int:pk>/charts/": "list_crawl_minutes",
    "crawls/<int:pk>/charts.csv": "list_crawl_minutes",
    "crawls/<int:pk>/evidence.zip": "export_crawl_diagnosis",
    "crawls/<int:pk>/extracted/": "list_crawl_pages list_extracted_rows get_rule_preview "
    "list_extractions list_extractors list_datasets",
    "crawls/^(?P<pk>[0-9]{1,18})/extracted\\.(?P<kind>csv|json)$": "list_extracted_rows",
    "crawls/extractors/": "list_extractors",
    "crawls/extractors/new/": "list_extractors",
    "crawls/extractors/<int:pk>/": "get_extractor",
    "crawls/extractors/<int:pk>/remove/": "get_extractor",
    "crawls/<int:pk>/schedule/": "get_crawl_schedule",
    "hosts/": "list_hosts",
    "^hosts/list\\.(?P<kind>csv|jsonl)$": "list_hosts",
    "hosts/<int:pk>/": "get_host",
    "search/": "search_pages",
    "search/text/": "search_page_texts",
    "account/preferences/": "get_preferences get_weekly_summary",
    "account/tokens/": "list_tokens",
    "collections/": "list_collections",
    "collections/add/": "list_collections",
    "collections/<int:pk>/": "get_collection list_collection_members",
    "collections/<int:pk>/edit/": "get_collection",
    "collections/<int:pk>/delete/": "get_collection",
    "collections/<int:pk>/captures/": "list_collection_captures",
    "collections/<int:pk>/share/": "list_collection_links",
    "collections/<int:pk>/wacz/": "get_collection_wacz",
    "collections/<int:pk>/collection.wacz": "export_collection_wacz",
    "alerts/": "list_alerts",
    "alerts/<int:pk>/": "get_alert list_alert_deliveries",
    "administration/identity/": "get_identity",
    "administration/access/": "list_access_rules",
    "administration/teams/": "list_teams",
    "administration/teams/<int:pk>/": "get_team",
    "administration/tokens/": "list_tokens",
    "administration/users/": "list_users",
    "administration/users/<int:pk>/": "list_users list_shared",
    "administration/activity/": "list_activities",
    "administration/activity.csv": "list_activities",
    "resources/": "list_pools",
    "resources/limits/": "list_pools get_pool",
    "resources/new/": "get_pool",
    "resources/<int:pool>/limits/<slug:page>/": "get_pool",
    "resources/<int:pool>/shares/<int:share>/": "get_pool",
    "resources/what-if/": "check_banker_state ask_what_if",
    "resources/<int:pool>/": "get_pool",
    "resources/<int:pool>/sequence/": "get_pool",
    "resources/<int:pool>/events/": "list_pool_events",
    "resources/<int:pool>/history/": "get_pool_version list_pool_samples",
    "resources/<int:pool>/history.csv": "list_pool_samples",
    "dns/": "get_dns_stats list_dns_names list_dns_domains get_dns_domain list_failing_names "
    "list_dns_evictions",
    "dns/why/": "get_host_name_wait",
    "dns/minutes.csv": "get_dns_stats",
    "dns/^export\\.(?P<kind>csv|json|txt)$": "list_dns_names",
    "capacity-planner/": "get_capacity_plan",
    "experiments/": "list_experiments",
    "experiments/<int:pk>/": "get_experiment",
    "experiments/<int:pk>/tries.csv": "get_experiment",
}


def by_id():
    """Method and route of each operation, as ROUTES has them."""
    return {
        operation["operationId"]: (
            method.upper(),
            path.removeprefix("/").replace("{", "<").replace("}", ">"),
        )
        for path, methods in description()["paths"].items()
        for method, operation in methods.items()
    }


def test_every_page_is_there_for_programs_of_the_same_role():
    shown = {
        route
        for route, methods in ROUTES.items()
        if "GET" in methods and not route.startswith(("api/", "admin/"))
    }
    operations = by_id()
    least = {
        page: max(ROUTES[route][method] for method, route in map(operations.get, ids.split()))
        for page, ids in SHOWN.items()
    }
    kept_from = {
        page
        for page, role in least.items()
        if role > ROUTES[page]["GET"] and not page.endswith(("/content/", "/picture/<slug:kind>/"))
    }

    assert shown == SHOWN.keys() | WITHOUT
    assert kept_from == set()


def test_a_page_is_had_with_its_headers_and_the_archive_by_its_files(operator, run):  # noqa: F811
    page = Page.objects.filter(run=run, status=200).order_by("pk").first()

    told = operator.get(f"crawls/{run.crawl_id}/pages/{page.pk}")
    [file] = operator.get(f"crawls/{run.crawl_id}/archive-files")["items"]

    assert (told["id"], told["run"], told["trouble"]) == (page.pk, 1, "")
    assert told["response_head"].startswith("HTTP/1.1 200")
    assert "WARC-Type: response" in told["record_header"]
    assert (file["run"], file["bytes"] > 0) == (1, True)
    assert operator("GET", f"crawls/{run.crawl_id}/pages/999999999")[0] == 404


def test_a_diagnosis_is_had_with_what_it_rests_on(programs, run):  # noqa: F811
    address = f"/api/v1/crawls/{run.crawl_id}/diagnosis/export"
    answers = {
        role: programs[role].client.get(address, headers=programs[role].headers)
        for role in ("viewer", "operator")
    }

    assert answers["viewer"].status_code == 403
    with zipfile.ZipFile(BytesIO(answers["operator"].content)) as bundle:
        assert bundle.testzip() is None
        assert any(json.loads(bundle.read(name)) for name in bundle.namelist() if "json" in name)


def test_a_listener_and_the_charts_of_the_overview_and_of_a_pool_are_had(programs, order):
    listener = Listener.objects.create(
        name="Chat", url="https://chat.example.org/", events=["failed"], secret="s" * 20
    )
    viewer, pool = programs["viewer"], default_pool()

    minutes = viewer.get("overview/minutes?hours=1")["items"]
    samples = viewer.get(f"pools/{pool.pk}/samples?span=hour")["items"]

    assert programs["administrator"].get(f"alerts/{listener.pk}")["name"] == "Chat"
    assert (len(minutes), minutes[-1]["is_open"], minutes[0]["fetched"]) == (61, True, 0)
    assert {sample["waiting"] for sample in samples} == {0}
    assert set(samples[-1]["used"]) == set(samples[-1]["reserved"])
    assert viewer("GET", f"pools/{pool.pk + 1}/samples")[0] == 404


@pytest.mark.parametrize("path", ["crawls", "overview", "pools", "hosts", "alerts"])
def test_a_program_that_polls_is_told_when_nothing_has_changed(programs, path):
    program = programs["administrator"]
    first = program.client.get(f"/api/v1/{path}", headers=program.headers)
    same = {**program.headers, "If-None-Match": first.headers.get("ETag", "")}

    assert program.client.get(f"/api/v1/{path}", headers=same).status_code == 304
