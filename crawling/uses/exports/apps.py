from crawling.base.use import Use


class ExportsConfig(Use):
    name = "crawling.uses.exports"
    verbose_name = "Exports"
