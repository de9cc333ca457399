"""The routes of pages about hosts, of the search of pages in all crawls, and of pages about names
that need crawls.
"""

from django.urls import path, re_path

from crawling.dashboard.hosts import views as hosts

app_name = "hosts"
urlpatterns = [
    path("hosts/", hosts.hosts, name="hosts"),
    re_path(r"^hosts/list\.(?P<kind>csv|jsonl)$", hosts.hosts_as_file, name="hosts-file"),
    path("hosts/<int:pk>/", hosts.host, name="host"),
    path("hosts/<int:pk>/block/", hosts.block, name="block"),
    path("search/", hosts.search, name="search"),
]
#: in addition to the routes of the cache of names
names = (
    [
        path("why/", hosts.why, name="why"),
    ],
    "names",
)
