"""A small web on loopback, so that a newcomer sees crawls at work in the first minute, offline."""
