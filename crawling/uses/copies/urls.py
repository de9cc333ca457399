"""The pages of copies of pages, among those of a crawl."""

from django.urls import path

from crawling.uses.copies import pages

urlpatterns = [
    path("<int:pk>/copies/", pages.show, name="copies"),
    path("<int:pk>/copies/text/<int:text>/", pages.of_text, name="text-copies"),
    path(
        "<int:pk>/copies/text/<int:text>/<int:new>/",
        pages.text_passages,
        name="text-passages",
    ),
    path("<int:pk>/copies/passages/<int:old>/<int:new>/", pages.passages, name="passages"),
]
