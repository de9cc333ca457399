from django.apps import AppConfig


class AllocationConfig(AppConfig):
    name = "allocation"

    def ready(self) -> None:
        from allocation import checks  # noqa: F401 - it registers itself; models are not ready before
