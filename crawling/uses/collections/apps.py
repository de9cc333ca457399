from crawling.base.use import Use


class CollectionsConfig(Use):
    name = "crawling.uses.collections"
    verbose_name = "Collections"
    address = "collections/"
