"""The processes that each way to install has to run."""

from __future__ import annotations

from crawlsite.env import BASE_DIR

DEPLOY = BASE_DIR / "deploy"
#: the lines of the Procfile, without that of machines for trying out
LINES = {
    line.partition(":")[0] for line in (BASE_DIR / "Procfile").read_text().splitlines() if line
} - {"demo"}
#: the settings by which all processes of an installation find each other
SHARED = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY"}
