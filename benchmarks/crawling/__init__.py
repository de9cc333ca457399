"""Measures of crawling."""
