"""The DNS cache: names resolved ahead of need, and kept as the patent says (SEEDS D)."""
