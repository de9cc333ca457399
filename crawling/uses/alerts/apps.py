from crawling.base.use import Use


class AlertsConfig(Use):
    name = "crawling.uses.alerts"
    verbose_name = "Alerts"
    address = "alerts/"
