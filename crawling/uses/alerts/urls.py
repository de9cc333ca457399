"""The pages about alerts."""

from django.urls import path

from crawling.uses.alerts import pages as alerts

app_name = "alerts"
urlpatterns = [
    path("", alerts.listeners, name="listeners"),
    path("<int:pk>/", alerts.listener, name="listener"),
    path("<int:pk>/test/", alerts.test, name="test"),
    path("<int:pk>/deliveries/<int:delivery>/again/", alerts.again, name="again"),
]
