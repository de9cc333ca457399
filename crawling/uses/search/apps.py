from crawling.base.use import Use


class SearchConfig(Use):
    name = "crawling.uses.search"
    verbose_name = "Search"
    address = "search/"

    def ready(self) -> None:
        from crawling.installation.events import records_removed, texts_read
        from crawling.uses.search.jobs import ask_indexing, forget_pages

        texts_read.connect(ask_indexing)
        records_removed.connect(forget_pages)
