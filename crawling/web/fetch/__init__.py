"""Fetches from one vetted address: HTTP by libcurl, FTP, local files."""
