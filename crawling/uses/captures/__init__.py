"""All captures of an address, in all runs and crawls, as a calendar."""
