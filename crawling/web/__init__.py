"""The web, independent of crawls: addresses, robots.txt, requests and documents. Uses neither
Django nor a database.
"""
