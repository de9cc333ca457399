"""How full the disk was. Written by `crawling.housekeeping.disk_samples` only."""

from __future__ import annotations

from django.db import models


class DiskSample(models.Model):
    """Bytes at a moment, of the disk that the archive is on. The database may be on another."""

    machine = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)
    total = models.BigIntegerField()
    free = models.BigIntegerField()
    archive = models.BigIntegerField(help_text="in the archive files of this machine")
    database = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["machine", "at"], name="disk_samples_in_time")]

    def __str__(self) -> str:
        return f"{self.machine} {self.at:%Y-%m-%d %H:%M}"
