from django.apps import AppConfig

from crawlsite.arrays import send_lists_quickly


class CrawlsiteConfig(AppConfig):
    name = "crawlsite"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        send_lists_quickly()
