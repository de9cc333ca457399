from django.apps import AppConfig
from django_rq.apps import DjangoRqAdminConfig


class CrawlsiteConfig(AppConfig):
    name = "crawlsite"
    default_auto_field = "django.db.models.BigAutoField"


class QueuesConfig(DjangoRqAdminConfig):
    """The app of django-rq, under a name that describes its pages."""

    verbose_name = "Queues and workers"
    default = False
