"""All captures of an address, over runs and crawls, as a calendar."""
