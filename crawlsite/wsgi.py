"""The module by which the web server calls the site."""

import gc
import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import DEFAULT_DB_ALIAS, connections

from crawlsite.middleware.call_stack import call_with_large_frame
from crawlsite.middleware.request_buffer import RequestBufferMiddleware
from crawlsite.middleware.secret_addresses import hide_secrets_in_gunicorn_logs
from crawlsite.private_files import keep_private
from crawlsite.supervisor.preload import import_pages

#: the interval after which a thread that renders a page lets other threads run; Python's default is
#: 5 ms
SWITCH_SECONDS = 0.001
#: the seconds for which a thread keeps its connection to PostgreSQL; a new connection takes longer
#: than most pages
KEPT_SECONDS = 60

keep_private()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlsite.settings")
application = call_with_large_frame(RequestBufferMiddleware(get_wsgi_application()).__call__)
hide_secrets_in_gunicorn_logs(settings.OWN_HOSTS)
import_pages()
sys.setswitchinterval(SWITCH_SECONDS)
connections.settings[DEFAULT_DB_ALIAS].update(CONN_MAX_AGE=KEPT_SECONDS, CONN_HEALTH_CHECKS=True)
# The objects that exist by now are never garbage. Collections that went through them made about
# every tenth page 130 ms slower.
gc.freeze()
