"""The form in which Django's cache stores values in Redis: JSON, which contains no code, as for
RQ's jobs.
"""

from __future__ import annotations

import json
from typing import Any


class JsonSerializer:
    """Stores JSON. Django's own serializer uses pickles, so a program that can write to Redis could
    let any code run when a pickle is read.
    """

    def dumps(self, value: Any) -> str:
        """Numbers are stored as numbers that Redis can increment.

        Raises TypeError for values that JSON cannot represent.
        """
        return json.dumps(value, separators=(",", ":"))

    def loads(self, data: bytes) -> Any:
        """The value. Raises ValueError for invalid JSON."""
        return json.loads(data)
