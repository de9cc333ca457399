"""The web as it is: addresses, robots.txt, requests and documents. No Django, no database."""
