"""The capacity planner (SEEDS W16): the resources that a crawl of a given size needs."""
