"""`manage.py install_nu_checker FILE`: unpack the Nu HTML checker, which `make nu-checker`
fetches.
"""

from __future__ import annotations

from crawling.links.nu_checker import CHECKER
from crawlsite.management.install import InstallCommand


class Command(InstallCommand):
    help = (
        f"Install the Nu HTML checker {CHECKER.version} from its npm package, whose checksum is "
        "compared. The next link check can use it."
    )
    program = CHECKER
    title = "The Nu HTML checker"
    effect = "The next link check can use it; it needs Java 17 or later."
