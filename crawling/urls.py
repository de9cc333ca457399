"""The crawl pages."""

from django.urls import path, re_path

from crawling.views import crawl, crawls, deleting, documents, new, schedule, steering, stored

app_name = "crawling"
urlpatterns = [
    path("", crawls.crawls, name="crawls"),
    path("new/", new.new, name="new"),
    path("test-fetch/", new.test_fetch, name="test-fetch"),
    path("<int:crawl>/delete/", deleting.delete, name="delete"),
    path("<int:pk>/", crawl.crawl, name="crawl"),
    path("<int:pk>/pages/", crawl.pages, name="pages"),
    path("<int:pk>/pages/<int:url>/", stored.page, name="page"),
    path("<int:pk>/pages/<int:url>/content/", stored.content, name="page-content"),
    path("<int:pk>/pages/<int:url>/record/", stored.record, name="page-record"),
    path("<int:pk>/archive/", stored.files, name="archive"),
    path("<int:pk>/archive/<int:number>/", stored.file, name="archive-file"),
    path("<int:pk>/hosts/", crawl.hosts, name="hosts"),
    path("<int:pk>/extracted/", documents.extracted, name="extracted"),
    re_path(r"^(?P<pk>[0-9]{1,18})/extracted\.(?P<kind>csv|json)$", documents.extracted_file, name="extracted-file"),
    path("<int:pk>/traps/", documents.judge, name="judge"),
    path("<int:pk>/schedule/", schedule.schedule, name="schedule"),
    path("<int:pk>/retry/", crawl.retry, name="retry"),
    re_path(r"^(?P<crawl>[0-9]{1,18})/(?P<verb>start|pause|resume|stop)/$", steering.steer, name="steer"),
]
