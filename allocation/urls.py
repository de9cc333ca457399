"""The routes of pages about resources."""

from django.urls import path

from allocation.views import history, limits, pools, what_if

app_name = "allocation"
urlpatterns = [
    path("", pools.pools_page, name="pools"),
    path("new/", pools.new_pool, name="new_pool"),
    path("what-if/", what_if.what_if, name="what_if"),
    path("limits/", limits.limits_page, name="limits"),
    path("<int:pool>/limits/<slug:page>/", limits.edit_limits, name="edit-limits"),
    path("<int:pool>/shares/<int:share>/", limits.edit_share, name="edit-share"),
    path("<int:pool>/", pools.pool_page, name="pool"),
    path("<int:pool>/sequence/", pools.safe_sequence_page, name="sequence"),
    path("<int:pool>/events/", pools.events_page, name="events"),
    path("<int:pool>/history.csv", history.chart_numbers_file, name="numbers"),
    path("<int:pool>/history/", history.history, name="history"),
]
