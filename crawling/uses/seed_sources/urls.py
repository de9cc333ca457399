"""The pages of seed sources, among those of a crawl."""

from django.urls import path

from crawling.uses.seed_sources import pages

urlpatterns = [
    path("<int:pk>/seeds/sources/", pages.create_seed_source, name="create_seed_source"),
    path(
        "<int:pk>/seeds/sources/<int:number>/",
        pages.remove_seed_source,
        name="remove_seed_source",
    ),
]
