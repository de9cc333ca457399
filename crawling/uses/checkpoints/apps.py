from crawling.base.use import Use


class CheckpointsConfig(Use):
    name = "crawling.uses.checkpoints"
    verbose_name = "Checkpoints"
