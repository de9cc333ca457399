"""The scenes for measurements: filled databases, sites, crawls, and the running product."""
