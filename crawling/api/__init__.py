"""Crawls as JSON. Routers only: who may log in, and what errors look like, is settled where they are put together."""
