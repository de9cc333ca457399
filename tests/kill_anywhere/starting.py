"""`python -m tests.kill_anywhere.starting FILE`: make and start the crawls whose orders are in a
file, in one process.
"""

import json
import os
import sys
from pathlib import Path

import django

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "crawlsite.settings"
    django.setup()
    from crawling.runs.crawls.creation import create_crawl
    from crawling.runs.start import start_run

    for order in json.loads(Path(sys.argv[1]).read_text()):
        start_run(create_crawl(order))
