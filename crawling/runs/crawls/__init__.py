"""The life of a crawl: creating, editing and scheduling its order."""
