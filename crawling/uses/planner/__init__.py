"""The capacity planner (SEEDS W16): what a crawl of a given size needs."""
