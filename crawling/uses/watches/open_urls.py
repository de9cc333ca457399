"""The feeds of watches, which feed readers open without an account."""

from django.urls import path

from crawling.uses.watches.feed_page import feed

urlpatterns = [path("watches/<str:token>/feed.atom", feed, name="watch-feed")]
