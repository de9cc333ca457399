"""A crawl's life: creating, editing and scheduling orders."""
