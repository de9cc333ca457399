"""Plans of revisits follow edits of orders and withdrawals."""

from crawling.installation import events
from crawling.uses.revisits.plans import forget_revisits, plan_anew

events.order_edited.connect(plan_anew)
events.pages_withdrawn.connect(forget_revisits)
