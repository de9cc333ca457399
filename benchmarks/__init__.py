"""Measurements of the product, in scenes that are made for them."""

import django
from django.conf import settings

import crawlsite.settings

if not settings.configured:
    names = filter(str.isupper, dir(crawlsite.settings))
    settings.configure(**{name: getattr(crawlsite.settings, name) for name in names})
    django.setup()
