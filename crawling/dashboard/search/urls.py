"""The page of the search of texts, which spans all crawls."""

from django.urls import path

from crawling.dashboard.search import views

app_name = "search"
urlpatterns = [path("text/", views.show, name="texts")]
