"""The capacity planner."""

from django.urls import path

from crawling.dashboard.planner.views import planner

app_name = "planner"
urlpatterns = [path("", planner, name="planner")]
