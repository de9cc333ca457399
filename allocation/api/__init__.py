"""The endpoints of pools. `crawlsite.api` hangs them in."""

from allocation.api.banker import banker
from allocation.api.history import history
from allocation.api.limits import pools
from allocation.api.what_if import what_if

pools.add_router("", what_if)
pools.add_router("", history)

__all__ = ["banker", "pools"]
