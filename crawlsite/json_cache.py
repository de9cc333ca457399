"""How Django's cache keeps values in Redis: as JSON, which holds no code, as RQ's jobs are kept."""

from __future__ import annotations

import json
from typing import Any


class JsonSerializer:
    """Django's own pickles, and who could write to Redis could have any code run on reading one."""

    def dumps(self, value: Any) -> str:
        """Numbers stay numbers that Redis can count up.

        Raises TypeError for what JSON cannot hold.
        """
        return json.dumps(value, separators=(",", ":"))

    def loads(self, data: bytes) -> Any:
        """Raises ValueError for invalid JSON."""
        return json.loads(data)
