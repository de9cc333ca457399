"""What becomes of the events of watches when pages are withdrawn."""

from crawling.installation import events
from crawling.uses.watches.watching import forget_withdrawn

events.pages_withdrawn.connect(forget_withdrawn)
