from django.apps import AppConfig


class CrawlsiteConfig(AppConfig):
    name = "crawlsite"
    default_auto_field = "django.db.models.BigAutoField"
