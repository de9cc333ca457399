"""The pages of resources."""

from django.urls import path

from allocation.views import bank, history, what_if

app_name = "allocation"
urlpatterns = [
    path("", bank.banks, name="banks"),
    path("what-if/", what_if.what_if, name="what_if"),
    path("<int:pool>/", bank.bank, name="bank"),
    path("<int:pool>/sequence/", bank.sequence, name="sequence"),
    path("<int:pool>/events/", bank.events, name="events"),
    path("<int:pool>/history.csv", history.numbers, name="numbers"),
    path("<int:pool>/history/", history.history, name="history"),
]
