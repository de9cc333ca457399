from crawling.base.use import Use


class SearchConfig(Use):
    name = "crawling.uses.search"
    verbose_name = "Search"
    address = "search/"

    def ready(self) -> None:
        from crawling.installation.events import records_removed, texts_read
        from crawling.uses.search.jobs import request_indexing, request_removal_of_texts

        texts_read.connect(request_indexing)
        records_removed.connect(request_removal_of_texts)
