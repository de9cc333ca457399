"""The addresses of the cache's pages and files."""

from django.urls import path, re_path

from dnscache import views

app_name = "dnscache"
urlpatterns = [
    path("", views.overview, name="overview"),
    path("minutes.csv", views.minutes, name="minutes"),
    path("limit/", views.limit, name="limit"),
    path("flush/", views.flush, name="flush"),
    re_path(r"^(?P<deed>retry|pin|unpin)/$", views.act, name="act"),
    re_path(r"^export\.(?P<kind>csv|json|txt)$", views.export, name="export"),
]
