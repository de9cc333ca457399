"""The capacity planner."""

from django.urls import path

from crawling.uses.planner.pages import planner

app_name = "planner"
urlpatterns = [path("", planner, name="planner")]
