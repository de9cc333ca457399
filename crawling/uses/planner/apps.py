from crawling.base.use import Use


class PlannerConfig(Use):
    name = "crawling.uses.planner"
    verbose_name = "Capacity planner"
    address = "capacity-planner/"
