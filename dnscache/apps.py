from django.apps import AppConfig


class DnsCacheConfig(AppConfig):
    name = "dnscache"
    verbose_name = "DNS"
