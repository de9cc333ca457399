"""Copies: clusters of pages within and between runs, and passages that texts share."""
