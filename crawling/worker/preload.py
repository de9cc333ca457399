"""What every shift wants and none changes, made once in the process that they are forked from."""

from __future__ import annotations

import gc

from crawling.scope.scope import Reach, Scope
from crawling.web.addresses import canonical_address
from dnscache.regions.levels import levels_of

ANY = "www.example.org"


def prepare_to_fork() -> None:
    """Read the list of public suffixes, which takes each shift 30 ms otherwise.

    What is there by then is no garbage: to look through it would stop all toes for 70 ms again and
    again, and have each shift copy it.
    """
    Scope.of_seeds(Reach.DOMAIN, [canonical_address(f"https://{ANY}/")], None)
    levels_of(ANY)
    gc.freeze()
