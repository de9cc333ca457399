from crawling.base.use import Use


class AlertsConfig(Use):
    name = "crawling.uses.alerts"
    verbose_name = "Alerts"
    address = "alerts/"
    administrators_may = (
        "alerts.view_listener",
        "alerts.change_listener",
        "alerts.delete_listener",
    )

    def ready(self) -> None:
        from crawling.installation.events import account_deleted, alerted, page_alerts_withdrawn
        from crawling.uses.alerts.listeners import end_summary_of_account
        from crawling.uses.alerts.notify import add_deliveries, delete_page_alerts

        alerted.connect(add_deliveries)
        page_alerts_withdrawn.connect(delete_page_alerts)
        account_deleted.connect(end_summary_of_account)
