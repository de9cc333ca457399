from crawling.base.use import Use


class ExtractionConfig(Use):
    name = "crawling.uses.extraction"
    verbose_name = "Extraction"
