"""One settings module for every installation; the differences between installations come from the
environment (`env.py`).
"""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

from crawlsite import env
from crawlsite.logs import logging_setting
from crawlsite.replay.player import PLAYER
from crawlsite.server_settings import (
    database_setting,
    mail_server,
    own_service_addresses,
    session_parameters,
)
from crawlsite.supervisor.procfile import found_dashboard_url

ENVIRONMENT = env.read()
BASE_DIR = env.BASE_DIR
STATE_DIR = ENVIRONMENT.state_dir

SECRET_KEY = ENVIRONMENT.secret_key
DEBUG = ENVIRONMENT.debug

# -- who may ask, and how: PUBLIC_URL is the address operators type
#   ---------------------------------
PUBLIC_URL = ENVIRONMENT.public_url
#: the dashboard's address on this machine, as commands print it; ends with a slash
DASHBOARD_URL = found_dashboard_url(ENVIRONMENT)
_public = urlsplit(PUBLIC_URL)
BEHIND_HTTPS = _public.scheme == "https"
ALLOWED_HOSTS = [
    "127.0.0.1",
    "localhost",
    "[::1]",
    *([_public.hostname] if _public.hostname else []),
]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"] if PUBLIC_URL else []
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_HTTPS else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_HTTPS
#: our scripts do not need the cookie, and scripts of archived pages, on another port, must not read
#: it
CSRF_COOKIE_HTTPONLY = True
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if BEHIND_HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # we cannot promise HTTPS for other subdomains of the operator's host
    # the proxy redirects to HTTPS; a redirect of ours would lock out plain loopback
    "security.W008",
    "security.W021",  # we cannot promise a place on the browsers' preload list either
]

#: the uses of crawls: each folder is one
USES = sorted(path.parent.name for path in (BASE_DIR / "crawling" / "uses").glob("*/__init__.py"))
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "django_htmx",
    "ninja",
    "crawlsite.apps.QueuesConfig",
    "axes",
    "allocation",
    "dnscache",
    "crawling",
    "crawling.dashboard",
    *(f"crawling.uses.{name}" for name in USES),
    "experiments",
    "crawlsite",
]

MIDDLEWARE = [
    # outermost, so that every error has a request's id
    "crawlsite.middleware.request_ids.RequestIdMiddleware",
    "crawlsite.middleware.content_policy.ContentPolicyMiddleware",
    # outside of those below: it sees the cookies that they all set
    "crawlsite.middleware.plain_loopback.PlainLoopbackMiddleware",
    "crawlsite.api.errors.JsonErrorMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "crawlsite.api.admission.AdmissionMiddleware",  # before any query of the database
    # a live page that has not changed is answered 304
    "django.middleware.http.ConditionalGetMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "crawlsite.administration.passwords.GivenPasswordMiddleware",
    "crawlsite.api.file_tokens.FileTokenMiddleware",
    # outside of shared refreshes, which depend on permissions
    "crawlsite.middleware.crawl_permissions.CrawlPermissionsMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "crawlsite.download_limit.DownloadLimitMiddleware",
    # outside of shared refreshes: users with the same choices share one
    "crawlsite.preferences.PreferenceMiddleware",
    "crawlsite.middleware.shared_refreshes.SharedRefreshMiddleware",
    "crawlsite.middleware.retry_later.RetryLaterMiddleware",
    "crawlsite.middleware.withdrawn_pages.WithdrawnPageMiddleware",
    "crawlsite.logins.KnownBrowserMiddleware",
    "axes.middleware.AxesMiddleware",
    # innermost but for the view: its additions count for the ETag, and it needs the user
    "crawlsite.middleware.shared_refreshes.RefreshAlarmsMiddleware",
]

ROOT_URLCONF = "crawlsite.urls"
WSGI_APPLICATION = "crawlsite.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "allocation.alarms.alarms_in_pages",
                "crawlsite.preferences.preferences_in_pages",
            ],
            "builtins": ["crawlsite.templatetags.page_tags"],
        },
    },
]

# CONN_MAX_AGE stays 0: a worker forks work processes, and a connection must not live on both sides
# of a fork.
DATABASES = {
    "default": database_setting(
        ENVIRONMENT.database_url,
        lease_seconds=ENVIRONMENT.bank_lease_seconds,
        is_pooled=bool(ENVIRONMENT.database_direct_url),
    )
}
#: psycopg's parameters for connections that need a session; empty if those of DATABASES have one
DATABASE_SESSIONS = session_parameters(
    ENVIRONMENT.database_direct_url, lease_seconds=ENVIRONMENT.bank_lease_seconds
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

#: A program that can write to Redis can run our own jobs again; with RQ's default pickles and job
#: class, it could run any code.
RQ_SERIALIZER = "rq.serializers.JSONSerializer"
RQ = {"JOB_CLASS": "crawling.fetching.worker.own_jobs.OwnJob"}
#: seconds for which Redis keeps jobs that failed; RQ's default of a year fills Redis's memory
RQ_FAILED_JOBS_SECONDS = 7 * 24 * 3600
# redis-py 8 stops reading after 5 s by default, which breaks a worker's blocking wait for a job.
RQ_QUEUES = {
    name: {
        "URL": ENVIRONMENT.redis_url,
        "DEFAULT_TIMEOUT": 15 * 60,
        "SERIALIZER": RQ_SERIALIZER,
        "REDIS_CLIENT_KWARGS": {"socket_timeout": None, "socket_connect_timeout": 5},
    }
    for name in ("shifts", "rendering", "experiments", "background", "idle", "imports")
}

# Counts of the API's requests and refreshes of pages, which all web processes share. If this Redis
# is lost, a minute's count is lost.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": ENVIRONMENT.redis_url,
        "KEY_PREFIX": "crawlsite",
        "VERSION": 2,  # the first version's values were pickles
        "OPTIONS": {"serializer": "crawlsite.json_cache.JsonSerializer"},
    }
}
API_REQUESTS_A_MINUTE = ENVIRONMENT.api_requests_a_minute
WEB_THREADS = ENVIRONMENT.web_threads

_mail = mail_server(ENVIRONMENT.mail_url)
EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = (
    _mail.host,
    _mail.port,
    _mail.user,
    _mail.password,
)
EMAIL_USE_SSL, EMAIL_USE_TLS = _mail.use_ssl, _mail.use_tls
EMAIL_BACKEND, EMAIL_TIMEOUT = "crawlsite.mail_backend.EmailBackend", 10
DEFAULT_FROM_EMAIL = ENVIRONMENT.mail_from

AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
# The what-if page has three fields a process and two a class, and up to 1,000 and 50 of them.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 3200

# Wrong passwords are counted by address and, with a higher limit, by name (`crawlsite.logins`).
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "crawlsite.logins.AccountBackend",
]
#: the number of wrong passwords from one address after which log-ins from there are refused, and
#: for how long
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=5)
AXES_HANDLER = "crawlsite.logins.LoginAttemptHandler"
AXES_LOCKOUT_PARAMETERS = "crawlsite.logins.attempt_keys"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = False
AXES_USERNAME_CALLABLE = "crawlsite.logins.attempted_name"
AXES_CLIENT_IP_CALLABLE = "serving.visitors.visitor_address"
AXES_LOCKOUT_CALLABLE = "crawlsite.logins.locked_out_page"
AXES_SENSITIVE_PARAMETERS = ["password"]  # the log names the user and the address
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
LOGIN_URL = "login"
CSRF_FAILURE_VIEW = "crawlsite.refusal_pages.csrf_failure"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "static/"
# Django's default modes let other accounts read.
FILE_UPLOAD_PERMISSIONS, FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o640, 0o750
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

#: the hosts of our own addresses, as in ALLOWED_HOSTS; the replay of each run has a name below one
#: of these
OWN_HOSTS = [
    *([_public.hostname] if _public.hostname else []),
    *([f".{_replay}"] if (_replay := urlsplit(ENVIRONMENT.replay_url).hostname) else []),
]
LOGGING = logging_setting(
    level=ENVIRONMENT.log_level, style=ENVIRONMENT.log_format, own_hosts=OWN_HOSTS
)

# -- our own
#   ----------------------------------------------------------------------------------------
BANK_LEASE_SECONDS = ENVIRONMENT.bank_lease_seconds
BANK_PICKUP_SECONDS = ENVIRONMENT.bank_pickup_seconds
CRAWL_SLICE_SECONDS = ENVIRONMENT.crawl_slice_seconds
CRAWLS_WAITING_MAX = ENVIRONMENT.crawls_waiting_max
ARCHIVE_DIR = ENVIRONMENT.archive_dir
ARCHIVE_URL = ENVIRONMENT.archive_url
#: the largest file of a log; then the next file is begun
ARCHIVE_FILE_BYTES = ENVIRONMENT.archive_file_bytes
#: the folder whose files give crawls their seeds, one file a crawl
SEED_DIR = ENVIRONMENT.seed_dir
#: the folder of the WARC and WACZ files that users may import
IMPORT_DIR = ENVIRONMENT.import_dir
#: the directory of automatic checkpoints of runs; None if there are none
CHECKPOINT_DIR = ENVIRONMENT.checkpoint_dir
CHECKPOINT_MINUTES = ENVIRONMENT.checkpoint_minutes
CHECKPOINTS_KEPT = ENVIRONMENT.checkpoints_kept
DNS_SERVERS = ENVIRONMENT.dns_servers
DNS_AHEAD = ENVIRONMENT.dns_ahead
DNS_AHEAD_FIRST = ENVIRONMENT.dns_ahead_first
#: the addresses on which our own web server, database and queue listen: a crawl never fetches from
#: them, whatever networks are allowed
OWN_SERVICES = own_service_addresses(ENVIRONMENT)
DEMO_PORT = ENVIRONMENT.demo_port
#: the folder of ReplayWeb.page, if it is installed, and the origin on which it is served
REPLAY_PLAYER = PLAYER
REPLAY_DIR = PLAYER.folder(STATE_DIR)
REPLAY_PORT = ENVIRONMENT.replay_port
REPLAY_URL = ENVIRONMENT.replay_url
DEMO = ENVIRONMENT.demo
WORKERS = ENVIRONMENT.workers
BROWSER_PAGES = ENVIRONMENT.browser_pages
