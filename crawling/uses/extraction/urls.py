"""The pages of extraction, among those of a crawl."""

from django.urls import path, re_path

from crawling.uses.extraction import pages, tables_pages

urlpatterns = [
    re_path(
        r"^(?P<pk>[0-9]{1,18})/pages/(?P<url>[0-9]{1,18})/table-(?P<number>[0-9]{1,9})"
        r"\.(?P<kind>csv)$",
        tables_pages.file,
        name="page-table",
    ),
    path("<int:pk>/extracted/", pages.extracted, name="extracted"),
    re_path(
        r"^(?P<pk>[0-9]{1,18})/extracted\.(?P<kind>csv|json)$",
        pages.extracted_file,
        name="extracted-file",
    ),
]
