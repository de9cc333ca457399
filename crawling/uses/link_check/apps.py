from crawling.base.use import Use


class LinkCheckConfig(Use):
    name = "crawling.uses.link_check"
    verbose_name = "Link check"
