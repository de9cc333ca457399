from crawling.base.use import Use


class SearchConfig(Use):
    name = "crawling.uses.search"
    verbose_name = "Search"
    address = "search/"

    def ready(self) -> None:
        from crawling.installation.events import records_removed, texts_read
        from crawling.uses.search.jobs import forget_pages, request_indexing

        texts_read.connect(request_indexing)
        records_removed.connect(forget_pages)
