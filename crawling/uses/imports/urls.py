"""The pages of imports, among those of a crawl."""

from django.urls import path

from crawling.uses.imports import pages

urlpatterns = [
    path("imports/", pages.imports, name="imports"),
    path("imports/<int:pk>/cancel/", pages.cancel, name="cancel_import"),
]
