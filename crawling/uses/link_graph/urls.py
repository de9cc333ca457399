"""The pages of the link graph, among those of a crawl."""

from django.urls import path, re_path

from crawling.uses.link_graph import pages

urlpatterns = [
    path("<int:pk>/graph/", pages.show, name="graph"),
    re_path(
        r"^(?P<pk>[0-9]{1,18})/graph\.(?P<kind>csv|jsonl|parquet|graphml)$",
        pages.file,
        name="graph-file",
    ),
]
