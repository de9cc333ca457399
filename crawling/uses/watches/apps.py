from crawling.base.use import Use


class WatchesConfig(Use):
    name = "crawling.uses.watches"
    verbose_name = "Watches"
