from django.apps import AppConfig


class AllocationConfig(AppConfig):
    name = "allocation"
    verbose_name = "Resources"

    def ready(self) -> None:
        # it registers itself; models are not ready before
        from allocation import checks  # noqa: F401
