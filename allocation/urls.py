"""The routes of pages about resources."""

from django.urls import path

from allocation.views import history, limits, pools, what_if

app_name = "allocation"
urlpatterns = [
    path("", pools.pools, name="pools"),
    path("new/", pools.new_pool, name="new_pool"),
    path("what-if/", what_if.what_if, name="what_if"),
    path("limits/", limits.limits, name="limits"),
    path("<int:pool>/limits/<slug:page>/", limits.edit_limits, name="edit-limits"),
    path("<int:pool>/shares/<int:share>/", limits.edit_share, name="edit-share"),
    path("<int:pool>/", pools.pool, name="pool"),
    path("<int:pool>/sequence/", pools.sequence, name="sequence"),
    path("<int:pool>/events/", pools.events, name="events"),
    path("<int:pool>/history.csv", history.numbers, name="numbers"),
    path("<int:pool>/history/", history.history, name="history"),
]
