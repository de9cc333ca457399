from crawling.base.use import Use


class ImportsConfig(Use):
    name = "crawling.uses.imports"
    verbose_name = "Imports"
