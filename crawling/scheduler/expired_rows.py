"""What would grow for ever: messages of the bank that were delivered, and sessions that have
expired.
"""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

from django.conf import settings

from allocation.services import forget_sent

DELIVERED = timedelta(days=1)


def delete_expired_rows() -> None:
    """Delete it. Of many messages ten thousand at a time: other duties wait meanwhile."""
    forget_sent(older_than=DELIVERED)
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
