"""Crawls: the orders of operators, the crawler that executes them, and the dashboard above both."""
