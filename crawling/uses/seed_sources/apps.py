from crawling.base.use import Use


class SeedSourcesConfig(Use):
    name = "crawling.uses.seed_sources"
    verbose_name = "Seed sources"
