"""The feeds of watches stop with the account of their maker."""

from crawling.runs.crawls.shared_items import SharedKind
from crawling.uses.watches.watching import hand_watch_over, watches_by

SHARED = (
    SharedKind(
        "feed",
        "crawling:watches",
        watches_by,
        lambda watch, receiver, by: hand_watch_over(watch, receiver, by=by),
    ),
)
