from crawling.base.use import Use


class SearchConfig(Use):
    name = "crawling.uses.search"
    verbose_name = "Search"
    address = "search/"
