"""The trials pages."""

from django.urls import path

from crawling.experiments import views as trials

app_name = "trials"
urlpatterns = [
    path("", trials.trials, name="trials"),
    path("<int:pk>/tries.csv", trials.numbers, name="numbers"),
    path("<int:pk>/", trials.trial, name="trial"),
]
