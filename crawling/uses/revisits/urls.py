"""The pages of revisits, among those of a crawl."""

from django.urls import path, re_path

from crawling.uses.revisits import pages

urlpatterns = [
    path("<int:pk>/freshness/", pages.show, name="freshness"),
    re_path(
        r"^(?P<pk>[0-9]{1,18})/freshness\.(?P<kind>csv|jsonl)$",
        pages.file,
        name="freshness-file",
    ),
]
