"""The pages of checkpoints, among those of a crawl."""

from django.urls import path

from crawling.uses.checkpoints import pages

urlpatterns = [
    path("<int:pk>/checkpoints/", pages.checkpoints, name="checkpoints"),
]
