"""The addresses of the cache's pages and files."""

from django.urls import path, re_path

from dnscache import views

app_name = "dnscache"
urlpatterns = [
    path("", views.overview, name="overview"),
    path("minutes.csv", views.minutes_csv, name="minutes"),
    path("limit/", views.limit_name_server, name="limit"),
    path("flush/", views.flush_scope, name="flush"),
    re_path(r"^(?P<deed>retry|pin|unpin)/$", views.act_on_name, name="act"),
    re_path(r"^export\.(?P<kind>csv|json|txt)$", views.export_cache, name="export"),
]
