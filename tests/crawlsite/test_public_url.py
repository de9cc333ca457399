"""Behind a proxy: PUBLIC_URL drives hosts, origins and cookies, and people on the server itself
still log in.
"""

import json
import subprocess
import sys

import pytest
from django.test import Client

from crawlsite.supervisor.__main__ import warning_for
from tests.crawlsite.programs import PROJECT, environment

NAMES = [
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "SESSION_COOKIE_SECURE",
    "CSRF_COOKIE_SECURE",
    "SECURE_PROXY_SSL_HEADER",
    "DEBUG",
]


@pytest.fixture
def settings_with(tmp_path):
    def read(public_url: str) -> dict:
        script = (
            f"import json; from crawlsite import settings; print(json.dumps({{n: "
            f"getattr(settings, n) for n in {NAMES}}}))"
        )
        env = environment(PUBLIC_URL=public_url, STATE_DIR=str(tmp_path))
        return json.loads(
            subprocess.check_output([sys.executable, "-c", script], cwd=PROJECT, env=env)
        )

    return read


def test_https_address_drives_hosts_origins_and_secure_cookies(settings_with):
    settings = settings_with("https://crawls.example.org:8443/")

    assert settings["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "[::1]", "crawls.example.org"]
    assert settings["CSRF_TRUSTED_ORIGINS"] == ["https://crawls.example.org:8443"]
    assert settings["SESSION_COOKIE_SECURE"] is settings["CSRF_COOKIE_SECURE"] is True
    assert settings["SECURE_PROXY_SSL_HEADER"] == ["HTTP_X_FORWARDED_PROTO", "https"]


def test_without_a_public_address_only_loopback_may_ask(settings_with):
    settings = settings_with("")

    assert settings["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "[::1]"]
    assert settings["CSRF_TRUSTED_ORIGINS"] == []
    assert settings["SESSION_COOKIE_SECURE"] is settings["CSRF_COOKIE_SECURE"] is False
    assert settings["SECURE_PROXY_SSL_HEADER"] is None
    assert settings["DEBUG"] is False


@pytest.fixture
def behind_https(settings):
    settings.ALLOWED_HOSTS = ["127.0.0.1", "[::1]", "crawls.example.org"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://crawls.example.org"]
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


def log_in(host: str, **headers: str):
    """Log in with the form, as a browser at `host` would; a browser never sends a Secure cookie
    over plain HTTP.
    """
    client = Client(enforce_csrf_checks=True, headers={"host": host, **headers})
    page = client.get("/admin/login/")
    form = {
        "username": "ada",
        "password": "right",
        "csrfmiddlewaretoken": page.cookies["csrftoken"].value,
    }
    return client.post("/admin/login/", form)


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["127.0.0.1:8000", "[::1]:8000", "127.0.0.1"])
def test_plain_loopback_logs_in_with_a_cookie_that_comes_back(
    behind_https, django_user_model, host
):
    django_user_model.objects.create_superuser("ada", password="right")

    answer = log_in(host, origin=f"http://{host}")

    assert answer.status_code == 302
    assert not answer.cookies["sessionid"]["secure"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "proxy", [{"x-forwarded-proto": "https", "referer": "https://crawls.example.org/"}, {}]
)
def test_public_name_gets_secure_cookies_even_if_the_proxy_forgets_its_header(
    behind_https, django_user_model, proxy
):
    django_user_model.objects.create_superuser("ada", password="right")

    answer = log_in("crawls.example.org", origin="https://crawls.example.org", **proxy)

    assert answer.status_code == 302
    assert answer.cookies["sessionid"]["secure"]


def test_stranger_host_is_refused(client):
    assert client.get("/admin/login/", headers={"host": "evil.example"}).status_code == 400


def test_root_is_warned_and_nobody_else():
    assert "start it as a user of its own" in warning_for(0)
    assert warning_for(1000) == ""


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "via", "x-real-ip"])
def test_a_proxy_that_asks_for_loopback_gets_secure_cookies(client, behind_https, header):
    answer = client.get("/login/", headers={"host": "127.0.0.1:8000", header: "for=192.0.2.1"})

    assert answer.cookies["csrftoken"]["secure"]


@pytest.mark.django_db
def test_a_silent_proxy_gets_secure_cookies_too(behind_https, django_user_model, caplog):
    """The proxy asks for the name by which it knows the server; only the browser tells where it
    is.
    """
    django_user_model.objects.create_superuser("ada", password="right")

    answer = log_in("127.0.0.1:8000", origin="https://crawls.example.org")

    assert answer.status_code == 302
    assert answer.cookies["sessionid"]["secure"]
    assert "https://crawls.example.org was answered by the name 127.0.0.1" in caplog.text
