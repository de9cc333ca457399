"""The page of the search of texts, which spans all crawls."""

from django.urls import path

from crawling.uses.search import pages as views

app_name = "search"
urlpatterns = [path("text/", views.show, name="texts")]
