from django.apps import AppConfig
from django_rq.apps import DjangoRqAdminConfig


class CrawlsiteConfig(AppConfig):
    name = "crawlsite"
    default_auto_field = "django.db.models.BigAutoField"


class QueuesConfig(DjangoRqAdminConfig):
    """django-rq's own, under a name that says what it shows."""

    verbose_name = "Queues and workers"
    default = False
