"""Events of watches follow withdrawals of pages."""

from crawling.installation import events
from crawling.uses.watches.watching import forget_withdrawn

events.pages_withdrawn.connect(forget_withdrawn)
