"""The scheduler finds lasting states to alert of, and wakes a worker for what is to be sent."""

from crawling.uses.alerts.jobs import wake_courier
from crawling.uses.alerts.notify import raise_ongoing_alerts

DUTIES = ((raise_ongoing_alerts, 10.0), (wake_courier, 5.0))
