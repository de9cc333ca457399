"""Whatever a program sends, nothing breaks and every answer is one that the description tells of."""

from __future__ import annotations

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, settings
from schemathesis import openapi
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi import checks

from crawling.services.creating import create_crawl
from crawlsite.tokens import make_token
from tests.api.conftest import SEED

load_all_checks()
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
]
#: for each endpoint; more are for a drill, not for every test run
EXAMPLES = 12


@pytest.fixture
def token(people, order):
    create_crawl(order(SEED))
    return make_token(people["administrator"], "schemathesis")


@pytest.fixture
def description(token):
    found = openapi.from_wsgi("/api/openapi.json", get_wsgi_application(), headers={"Authorization": f"Bearer {token}"})
    found.config.phases.coverage.enabled = False
    return found


schema = schemathesis.pytest.from_fixture("description")


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_nothing_that_is_sent_breaks_anything(case, token):
    case.call_and_validate(checks=CHECKS, headers={"Authorization": f"Bearer {token}"})
