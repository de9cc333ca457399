from crawling.base.use import Use


class CopiesConfig(Use):
    name = "crawling.uses.copies"
    verbose_name = "Copies"
