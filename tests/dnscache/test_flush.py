import pytest
from django.urls import reverse

from dnscache import resolver, services
from dnscache.models import DnsEntry
from dnscache.resolver import Source

pytestmark = pytest.mark.django_db
CHANGELIST = "admin:dnscache_dnsentry_changelist"


def test_a_flushed_name_is_asked_for_again(dns_server):
    resolver.resolve_many(["a.test", "b.test"], parallel=2, deadline=5)

    assert services.flush(["a.test", "unknown.test"]) == 1

    assert resolver.resolve("a.test").source is Source.LOOKUP
    assert resolver.resolve("b.test").source is Source.MEMORY


def test_the_admin_site_shows_the_cache_and_flushes_it(admin_client, dns_server):
    resolver.resolve("private-10-0-0-1.test")
    page = admin_client.get(reverse(CHANGELIST)).content.decode()
    assert "private-10-0-0-1.test" in page
    assert "10.0.0.1" in page

    admin_client.post(reverse(CHANGELIST), {"action": "flush", "_selected_action": ["private-10-0-0-1.test"]})

    assert not DnsEntry.objects.exists()
    assert resolver.resolve("private-10-0-0-1.test").source is Source.LOOKUP


@pytest.mark.parametrize("page", ["add", "delete"])
def test_nobody_writes_an_answer_by_hand(admin_client, dns_server, page):
    resolver.resolve("a.test")
    arguments = [] if page == "add" else ["a.test"]

    assert admin_client.post(reverse(f"admin:dnscache_dnsentry_{page}", args=arguments)).status_code == 403
    assert DnsEntry.objects.count() == 1
