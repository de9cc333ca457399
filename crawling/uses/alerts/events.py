"""Alerts follow events of crawls."""

from crawling.installation import events
from crawling.uses.alerts.notify import forget_page_alerts, leave_deliveries

events.alerted.connect(leave_deliveries)
events.page_alerts_withdrawn.connect(forget_page_alerts)
