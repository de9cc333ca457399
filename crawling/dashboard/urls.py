"""The routes of pages about crawls."""

from django.urls import path, re_path

from crawling.base.use import address_of, module_of_use, uses
from crawling.dashboard.base.run_pages import file_route
from crawling.dashboard.crawls import bulk_views, cancel_views
from crawling.dashboard.crawls import views as crawls
from crawling.dashboard.jobs import views as job_views
from crawling.dashboard.orders import (
    blocklist_views,
    create_views,
    limit_views,
    schedule_views,
    scope_views,
    seed_views,
    template_views,
)
from crawling.dashboard.pages import duplicates, rendered_view, stored_view
from crawling.dashboard.pages import page_cache as page_cache_views
from crawling.dashboard.pages import views as pages
from crawling.dashboard.run.views import (
    chart_views,
    frontier,
    lag,
    live_view,
    log,
    runs,
    share_links,
    steering,
)
from crawling.dashboard.run.views import page as crawl
from crawling.runs.verbs import VERBS

app_name = "crawling"
urlpatterns = [
    path("", crawls.crawls, name="crawls"),
    re_path(r"^list\.(?P<kind>csv|jsonl)$", crawls.crawls_as_file, name="crawls-file"),
    path("jobs/", job_views.jobs, name="jobs"),
    path("jobs/<int:pk>/cancel/", job_views.cancel, name="job-cancel"),
    path("jobs/<int:pk>/run-again/", job_views.run_again, name="job-run-again"),
    path("inquiries/<int:inquiry_id>/cancel/", cancel_views.cancel_asked, name="cancel_inquiry"),
    path("inquiries/<int:inquiry_id>/ask-again/", cancel_views.ask_inquiry_again, name="ask-again"),
    path("schedules/", schedule_views.schedules, name="schedules"),
    path("schedules/dates/", schedule_views.dates, name="schedule-dates"),
    path("schedules/many/", bulk_views.schedule_many, name="schedule-many"),
    path("bulk/", bulk_views.bulk, name="bulk"),
    path("undo/", bulk_views.undo, name="undo"),
    path("views/", crawls.keep_view, name="views"),
    path("new/", create_views.new, name="new"),
    path("url/", blocklist_views.url, name="url"),
    path("blocklist/", blocklist_views.blocklist, name="blocklist"),
    path("blocklist/<int:number>/remove/", blocklist_views.remove, name="blocklist-remove"),
    path("new/for/", create_views.choose_purpose, name="new-for"),
    path("new/allow/", create_views.allow_address, name="allow-address"),
    path("new/extractor/", template_views.keep_rules, name="new-extractor"),
    path("check/", create_views.check, name="check"),
    path("deleted/", crawls.deleted, name="deleted"),
    path(
        "deleted/<str:kind>/<int:pk>/restore/",
        crawls.restore_deleted,
        name="restore-deleted",
    ),
    path("deleted/<str:kind>/<int:pk>/remove/", crawls.remove_deleted, name="remove-deleted"),
    path("<int:pk>/scope/check/", scope_views.check, name="scope-check"),
    path("test-scope/", scope_views.test_scope, name="test-scope"),
    path("test-fetch/", create_views.test_fetch, name="test-fetch"),
    path("test-fetch/<int:inquiry_id>/", create_views.tested, name="tested"),
    path("page-cache/", page_cache_views.show, name="page-cache"),
    path("<int:crawl>/delete/", runs.delete, name="delete"),
    path("<int:pk>/runs/", runs.runs, name="runs"),
    path("<int:pk>/runs/<int:number>/delete/", runs.delete_run, name="run-delete"),
    path("<int:pk>/", crawl.crawl, name="crawl"),
    path("<int:pk>/settings/", crawl.settings, name="settings"),
    path("<int:pk>/owner/", steering.owner, name="owner"),
    path("<int:pk>/share/", share_links.share, name="share"),
    path("<int:pk>/share/<int:number>/revoke/", share_links.revoke, name="share-revoke"),
    path("<int:pk>/pages/", crawl.pages, name="pages"),
    path("<int:pk>/pages/<int:url>/", pages.page, name="page"),
    path("<int:pk>/pages/<int:url>/content/", stored_view.content, name="page-content"),
    path("<int:pk>/pages/<int:url>/picture/<slug:kind>/", stored_view.picture, name="page-picture"),
    path("<int:pk>/pages/<int:url>/rendering/", rendered_view.rendering, name="page-rendering"),
    path("<int:pk>/live-view/", live_view.live_view, name="live-view"),
    path("<int:pk>/shown/", stored_view.shown, name="shown"),
    path("<int:pk>/pages/<int:url>/document/", pages.document, name="page-document"),
    path("<int:pk>/pages/<int:url>/record/", pages.record, name="page-record"),
    re_path(r"^(?P<pk>[0-9]{1,18})/pages\.(?P<kind>csv|jsonl)$", pages.rows, name="pages-rows"),
    path("<int:pk>/pages.warc.gz", pages.records, name="pages-records"),
    path("<int:pk>/tree/", frontier.show_tree, name="site-tree"),
    path("<int:pk>/tree.csv", frontier.tree_numbers, name="site-tree-numbers"),
    path("<int:pk>/duplicates/", duplicates.show, name="duplicates"),
    file_route("duplicates", ("csv", "jsonl"), duplicates.file),
    path("<int:pk>/archive/", pages.files, name="archive"),
    path("<int:pk>/archive/<int:number>/", pages.file, name="archive-file"),
    path("<int:pk>/scope/", scope_views.scope, name="scope"),
    path("<int:pk>/raise-limit/", limit_views.raise_limit, name="raise-limit"),
    path("<int:pk>/revert/", scope_views.revert, name="revert"),
    path("<int:pk>/template/", template_views.keep_template, name="template"),
    path("templates/", template_views.templates, name="templates"),
    path("templates/<int:pk>/remove/", template_views.delete_template, name="template-remove"),
    path("<int:pk>/robots/", scope_views.robots, name="robots"),
    path("<int:pk>/hosts/", crawl.hosts, name="hosts"),
    path("<int:pk>/not-fetched/", pages.show_not_fetched, name="not-fetched"),
    file_route("not-fetched", ("csv", "jsonl"), pages.not_fetched_file),
    path("<int:pk>/frontier/", frontier.frontier, name="frontier"),
    path("<int:pk>/seeds/", seed_views.seeds, name="seeds"),
    path("<int:pk>/frontier.txt", frontier.text, name="frontier-text"),
    path("<int:pk>/log/", log.log, name="log"),
    re_path(r"^(?P<pk>[0-9]{1,18})/log\.(?P<ending>txt|jsonl)$", log.file, name="log-file"),
    path("<int:pk>/compare/", pages.compare, name="compare"),
    path("<int:pk>/compare/<int:old>/<int:new>/", pages.compare_page, name="compare-page"),
    path(
        "<int:pk>/compare/<int:old>/<int:new>/pictures/",
        rendered_view.pictures,
        name="compare-pictures",
    ),
    path("<int:pk>/lag/", lag.show, name="lag"),
    path("<int:pk>/charts/", chart_views.charts, name="charts"),
    path("<int:pk>/charts.csv", chart_views.numbers, name="numbers"),
    path("<int:pk>/evidence.zip", chart_views.evidence, name="evidence"),
    path("<int:pk>/traps/", pages.judge, name="judge"),
    path("<int:pk>/schedule/", schedule_views.schedule, name="schedule"),
    path("<int:pk>/retry/", crawl.retry, name="retry"),
    path("<int:crawl>/max/", steering.set_max, name="max"),
    re_path(
        rf"^(?P<crawl>[0-9]{{1,18}})/(?P<verb>{'|'.join(VERBS)})/$",
        steering.steer,
        name="steer",
    ),
]
for use in uses():
    if not address_of(use):
        urlpatterns += getattr(module_of_use(use, "pages"), "urlpatterns", [])
