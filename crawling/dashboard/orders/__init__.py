"""Creating a crawl, editing its order, its schedule, its rules."""
