from crawling.base.use import Use


class ExperimentsConfig(Use):
    name = "experiments"
    verbose_name = "Experiments"
    address = "experiments/"
