from crawling.base.use import Use


class WatchesConfig(Use):
    name = "crawling.uses.watches"
    verbose_name = "Watches"

    def ready(self) -> None:
        from crawling.installation.events import pages_withdrawn
        from crawling.uses.watches.watching import forget_withdrawn

        pages_withdrawn.connect(forget_withdrawn)
