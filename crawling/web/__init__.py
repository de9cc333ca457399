"""The web as it is: addresses, robots.txt, requests and documents. Uses neither Django nor a
database.
"""
