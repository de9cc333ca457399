"""All addresses of the site."""

from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.urls import include, path
from django.views.generic import RedirectView

from crawling.base.use import address_of, offered_by_uses, uses
from crawling.dashboard.hosts.urls import names
from crawling.dashboard.pages.stored_view import stored
from crawlsite.administration.access_views import about_this_crawler
from crawlsite.administration.passwords import change_own_password
from crawlsite.api.metrics import metrics
from crawlsite.api.root import api
from crawlsite.health.report import health, healthz, readyz
from crawlsite.help import render_document as help_page
from crawlsite.news import feed as news_feed
from crawlsite.news import read_page as read_news
from crawlsite.overview import attention_count, attention_page, numbers_csv, overview
from crawlsite.preferences import preferences_page as preferences_page
from crawlsite.preferences import store_look, store_refresh_seconds
from crawlsite.shared_report import report
from crawlsite.tokens import own_tokens_page, revoke_posted_token

handler403 = "crawlsite.refusal_pages.permission_denied"
handler500 = "crawlsite.middleware.request_ids.server_error"
urlpatterns = [
    path("", overview, name="home"),
    path("attention/", attention_page, name="attention"),
    path("attention/count/", attention_count, name="attention-count"),
    path("attention/read/", read_news, name="news-read"),
    path("news/<str:token>/feed.atom", news_feed, name="news-feed"),
    path("overview.csv", numbers_csv, name="overview-csv"),
    path("crawls/", include("crawling.dashboard.urls")),
    path("", include("crawling.dashboard.hosts.urls")),
    path("resources/", include("allocation.urls")),
    path("dns/", include(names)),
    path("dns/", include("dnscache.urls")),
    *(path(at, include(f"{use.name}.pages")) for use in uses() if (at := address_of(use))),
    path("administration/", include("crawlsite.administration.urls")),
    path("about-this-crawler/", about_this_crawler, name="about-crawler"),
    path("shared/<slug:token>/", report, name="shared-report"),
    path("stored/<str:token>/<int:number>/", stored, name="stored-page"),
    *offered_by_uses("pages", "open_urlpatterns"),
    path("help/", help_page, name="help"),
    path("help/<slug:document>/", help_page, name="help-document"),
    path("api/v1/", api.urls),
    # the admin site's own view would leave a password marked as given by an administrator
    path("admin/password_change/", RedirectView.as_view(pattern_name="password")),
    path("admin/", admin.site.urls),
    path("login/", auth_views.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("account/password/", change_own_password, name="password"),
    path("account/tokens/", own_tokens_page, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", revoke_posted_token, name="revoke-token"),
    path("account/preferences/", preferences_page, name="preferences"),
    path("account/refresh/", store_refresh_seconds, name="refresh"),
    path("account/look/", store_look, name="look"),
    path("health/", health, name="health"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
