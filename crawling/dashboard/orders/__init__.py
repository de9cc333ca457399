"""Creating a crawl, and editing its order, its schedule and its rules."""
