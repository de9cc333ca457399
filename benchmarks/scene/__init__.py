"""What is measured: databases that are filled, sites, crawls, the product at work."""
