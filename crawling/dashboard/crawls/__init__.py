"""The list of crawls, the overview, and actions on many crawls."""
