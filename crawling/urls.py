"""The crawl pages."""

from django.urls import path

from crawling.views import crawls

app_name = "crawling"
urlpatterns = [path("", crawls.crawls, name="crawls")]
