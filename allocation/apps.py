from django.apps import AppConfig


class AllocationConfig(AppConfig):
    name = "allocation"
    verbose_name = "Resources"

    def ready(self) -> None:
        # the module registers its check; models are not ready earlier
        from allocation import checks  # noqa: F401
