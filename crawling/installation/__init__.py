"""All that crawls of an installation share: identity, pools, permissions, the log of runs."""
