"""The pages of watches, among those of a crawl."""

from django.urls import path

from crawling.uses.watches import pages
from crawling.uses.watches.feed_page import feed

urlpatterns = [
    path("<int:pk>/watches/", pages.watches, name="watches"),
    path("<int:pk>/watches/<int:number>/", pages.change, name="watch"),
]
#: feed readers have no account
open_urlpatterns = [path("watches/<str:token>/feed.atom", feed, name="watch-feed")]
