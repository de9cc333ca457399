"""The pages of exports, among those of a crawl."""

from django.urls import path

from crawling.uses.exports import pages
from crawling.uses.exports.mirror.jobs import LATEST_MIRROR, MIRROR
from crawling.uses.exports.replay.page import replay
from crawling.uses.exports.wacz.jobs import WACZ

urlpatterns = [
    path("<int:pk>/wacz/", pages.show, {"export": WACZ}, name="wacz"),
    path("<int:pk>/replay/", replay, name="replay"),
    path("<int:pk>/run.wacz", pages.file, {"export": WACZ}, name="wacz-file"),
    path("<int:pk>/mirror/", pages.show, {"export": MIRROR}, name="mirror"),
    path("<int:pk>/mirror.zip", pages.file, {"export": MIRROR}, name="mirror-file"),
    path(
        "<int:pk>/latest-mirror/",
        pages.show,
        {"export": LATEST_MIRROR},
        name="latest-mirror",
    ),
    path(
        "<int:pk>/latest-mirror.zip",
        pages.file,
        {"export": LATEST_MIRROR},
        name="latest-mirror-file",
    ),
]
