"""The pages about webhooks."""

from django.urls import path

from crawling.views import webhooks

app_name = "webhooks"
urlpatterns = [
    path("", webhooks.webhooks, name="webhooks"),
    path("<int:pk>/", webhooks.webhook, name="webhook"),
    path("<int:pk>/deliveries/<int:delivery>/again/", webhooks.again, name="again"),
]
