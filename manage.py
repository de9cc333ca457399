#!/usr/bin/env python
"""Run an administrative task: `python manage.py help` lists them."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlsite.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from crawlsite.env import BadSetting
    from crawlsite.private_files import keep_private

    keep_private()
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has ended, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)  # the exit status that shells use
    except BadSetting as error:
        sys.exit(f"crawlsite: {error}")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None):
            raise  # a server answered
        sys.exit(
            "crawlsite: no database answers. Start it with `make run`, or set DATABASE_URL. "
            f"({error})"
        )


if __name__ == "__main__":
    main()
