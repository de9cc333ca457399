"""Whatever a program sends, nothing breaks and every answer is one that the description tells
of."""

from __future__ import annotations

import pytest
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from schemathesis import openapi
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi import checks

from crawling.runs.crawls.creation import create_crawl
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


@pytest.fixture
def token(transactional_db, people, order, settings):
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    create_crawl(order(SEED))
    return make_token(people["administrator"], "schemathesis")


@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(2, marks=pytest.mark.timeout(180)),
        pytest.param(50, marks=[pytest.mark.drill, pytest.mark.timeout(1800)]),
    ],
)
def test_nothing_that_is_sent_breaks_anything(token, examples):
    headers = {"Authorization": f"Bearer {token}"}
    description = openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application(), headers=headers)

    operations = [found.ok() for found in description.get_all_operations()]

    assert len(operations) > 20
    for operation in operations:
        send_anything_to(operation, headers, examples)


def send_anything_to(operation, headers, examples):
    @hypothesis_settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case):
        case.call_and_validate(checks=CHECKS, headers=headers)

    send()
