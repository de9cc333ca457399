from django.apps import AppConfig


class CrawlingConfig(AppConfig):
    name = "crawling"
    verbose_name = "Crawls"
