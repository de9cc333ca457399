"""Fetches from one vetted address: HTTP and FTP by libcurl, and local files."""
