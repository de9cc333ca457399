"""The pages of hosts, and the search of pages, which span all crawls."""

from django.urls import path

from crawling.views import hosts

app_name = "hosts"
urlpatterns = [
    path("hosts/", hosts.hosts, name="hosts"),
    path("hosts/<int:pk>/", hosts.host, name="host"),
    path("hosts/<int:pk>/block/", hosts.block, name="block"),
    path("search/", hosts.search, name="search"),
]
