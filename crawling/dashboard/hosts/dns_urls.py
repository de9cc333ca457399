"""Pages about names that know of crawls, too."""

from django.urls import path

from crawling.dashboard.hosts import name_views

app_name = "names"
urlpatterns = [
    path("why/", name_views.why, name="why"),
    path("replay/", name_views.replay, name="replay"),
]
