from crawling.base.use import Use


class StructuredDataConfig(Use):
    name = "crawling.uses.structured_data"
    verbose_name = "Structured data"
