from crawling.base.use import Use


class LinkCheckConfig(Use):
    name = "crawling.uses.link_check"
    verbose_name = "Link check"

    def ready(self) -> None:
        from crawling.installation.events import run_read
        from crawling.uses.link_check.jobs import count_again

        run_read.connect(count_again)
