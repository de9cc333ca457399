"""The crawl pages."""

from django.urls import path

from crawling import views

app_name = "crawling"
urlpatterns = [path("", views.crawls, name="crawls")]
