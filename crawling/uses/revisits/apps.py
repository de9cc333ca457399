from crawling.base.use import Use


class RevisitsConfig(Use):
    name = "crawling.uses.revisits"
    verbose_name = "Revisits"
