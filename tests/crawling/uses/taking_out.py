"""Settings of the product without the uses of crawls that WITHOUT names, and a program that
requests all its pages and prints those that fail.
"""

import json
import os
import sys

from crawlsite.settings import *  # noqa: F403
from crawlsite.settings import INSTALLED_APPS as EVERY

LEFT_OUT = {f"crawling.uses.{name}" for name in os.environ["WITHOUT"].split(",")}
INSTALLED_APPS = [app for app in EVERY if app not in LEFT_OUT]
ALLOWED_HOSTS = ["testserver"]
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}


def failing(addresses: list[str], name: str) -> list[str]:
    """The addresses that fail for the user of that name; pages that no longer exist count as
    fine.
    """
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    from django.urls import Resolver404, resolve

    call_command("check", verbosity=0)
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(username=name))
    found = []
    for address in addresses:
        try:
            resolve(address.partition("?")[0])
        except Resolver404:
            continue
        status = client.get(address).status_code
        if status >= 400:
            found.append(f"{status} {address}")
    return [*found, f"{len(addresses)} asked"] if found else []


if __name__ == "__main__":
    print(json.dumps(failing(json.load(sys.stdin), sys.argv[1])))
