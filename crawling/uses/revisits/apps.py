from crawling.base.use import Use


class RevisitsConfig(Use):
    name = "crawling.uses.revisits"
    verbose_name = "Revisits"

    def ready(self) -> None:
        from crawling.installation.events import order_edited, pages_withdrawn
        from crawling.uses.revisits.plans import delete_revisits_of_withdrawn, request_new_plan

        order_edited.connect(request_new_plan)
        pages_withdrawn.connect(delete_revisits_of_withdrawn)
