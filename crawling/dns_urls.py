"""Pages about names that know of crawls, too."""

from django.urls import path

from crawling.views import names

app_name = "names"
urlpatterns = [
    path("why/", names.why, name="why"),
    path("replay/", names.replay, name="replay"),
]
