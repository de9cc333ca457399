"""The pages of links, among those of a crawl."""

from django.urls import path, re_path

from crawling.uses.link_check import pages

urlpatterns = [
    path("<int:pk>/links/", pages.show, name="links"),
    path("<int:pk>/link-changes/", pages.changes, name="link-changes"),
    re_path(
        r"^(?P<pk>[0-9]{1,18})/link-changes\.(?P<kind>csv|jsonl)$",
        pages.changes_file,
        name="link-changes-file",
    ),
    re_path(
        r"^(?P<pk>[0-9]{1,18})/link-check\.(?P<kind>csv|jsonl|xml)$",
        pages.problem_file,
        name="link-check-file",
    ),
]
