"""The crawl pages."""

from django.urls import path, re_path

from crawling.views import crawls, deleting, new, steering

app_name = "crawling"
urlpatterns = [
    path("", crawls.crawls, name="crawls"),
    path("new/", new.new, name="new"),
    path("test-fetch/", new.test_fetch, name="test-fetch"),
    path("<int:crawl>/delete/", deleting.delete, name="delete"),
    re_path(r"^(?P<crawl>[0-9]{1,18})/(?P<verb>start|pause|resume|stop)/$", steering.steer, name="steer"),
]
