"""The pages of withdrawals, among those of a crawl."""

from django.urls import path

from crawling.uses.withdrawals import pages

urlpatterns = [
    path("<int:pk>/withdrawals/", pages.withdrawals, name="withdrawals"),
    path("<int:pk>/withdrawals/<int:number>/", pages.change, name="withdrawal"),
]
