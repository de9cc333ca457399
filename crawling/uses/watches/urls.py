"""The pages of watches, among those of a crawl."""

from django.urls import path

from crawling.uses.watches import pages

urlpatterns = [
    path("<int:pk>/watches/", pages.watches, name="watches"),
    path("<int:pk>/watches/<int:number>/", pages.change, name="watch"),
]
