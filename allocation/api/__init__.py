"""The endpoints about pools, which `crawlsite.api` includes."""

from allocation.api.banker import banker
from allocation.api.history import history
from allocation.api.limits import pools
from allocation.api.what_if import what_if

pools.add_router("", what_if)
pools.add_router("", history)

__all__ = ["banker", "pools"]
