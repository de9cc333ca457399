"""The pages of structured data, among those of a crawl."""

from django.urls import path, re_path

from crawling.uses.structured_data import pages

urlpatterns = [
    path("<int:pk>/structured-data/", pages.show, name="structured-data"),
    re_path(
        r"^(?P<pk>[0-9]{1,18})/structured-data\.(?P<kind>csv|jsonl|parquet)$",
        pages.file,
        name="structured-data-file",
    ),
]
