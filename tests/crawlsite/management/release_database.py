"""The database of a dated version, with rows of all kinds: upgrades from it are tested with it. Its
file is written by

    make test ARGS="tests/crawlsite/management/release_database.py"
"""

from __future__ import annotations

import gzip
import socket
import tomllib
from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection

from allocation.services import create_pool
from crawling.models import AllowedNetwork, Page
from crawlsite.env import BASE_DIR
from tests.crawling.conftest import CLASSES
from tests.databases.template import dumped
from tests.every_page import DATA, furnish, use_pages

FOLDER = Path(__file__).with_name("databases")


def test_the_database_of_this_version_is_written(transactional_db, make_site):
    create_pool(name="default", classes=CLASSES)
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    boss = User.objects.create_superuser("boss")
    made = furnish(make_site({}), by=boss, data=DATA)
    use_pages(Page.objects.get(pk=made["url"]), by=boss)
    version = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]

    dump = dumped(str(connection.settings_dict["NAME"]), "--rows-per-insert=20")
    dump = dump.replace(socket.gethostname().encode(), b"crawler-1")

    (FOLDER / f"{version}.sql.gz").write_bytes(gzip.compress(dump, mtime=0))
