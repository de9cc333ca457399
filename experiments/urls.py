"""The experiments pages."""

from django.urls import path

from experiments import views as experiments

app_name = "experiments"
urlpatterns = [
    path("", experiments.experiments, name="experiments"),
    path("<int:pk>/tries.csv", experiments.numbers, name="numbers"),
    path("<int:pk>/cancel/", experiments.cancel, name="cancel"),
    path("<int:pk>/", experiments.experiment, name="experiment"),
]
