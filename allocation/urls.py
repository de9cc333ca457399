"""The bank's pages."""

from django.urls import path

from allocation import views

app_name = "allocation"
urlpatterns = [
    path("", views.banks, name="banks"),
    path("<int:pool>/", views.bank, name="bank"),
]
