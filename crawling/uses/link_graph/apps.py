from crawling.base.use import Use


class LinkGraphConfig(Use):
    name = "crawling.uses.link_graph"
    verbose_name = "Link graph"
