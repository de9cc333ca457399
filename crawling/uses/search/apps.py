from crawling.base.use import Use


class SearchConfig(Use):
    name = "crawling.uses.search"
    verbose_name = "Search"
    address = "search/"

    def ready(self) -> None:
        from crawling.installation.events import records_removed, texts_read
        from crawling.uses.search.index_parts import add_texts, forget_pages

        texts_read.connect(add_texts)
        records_removed.connect(forget_pages)
