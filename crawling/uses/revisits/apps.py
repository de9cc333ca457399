from crawling.base.use import Use


class RevisitsConfig(Use):
    name = "crawling.uses.revisits"
    verbose_name = "Revisits"

    def ready(self) -> None:
        from crawling.installation.events import order_edited, pages_withdrawn
        from crawling.uses.revisits.plans import forget_revisits, plan_anew

        order_edited.connect(plan_anew)
        pages_withdrawn.connect(forget_revisits)
