"""A truth value is no number, in any body: `{"days": true}` would make a token of one day."""

from __future__ import annotations

from django.contrib.auth.models import User

from crawling.installation.pools import default_pool
from crawling.runs.crawls.creation import create_crawl
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.collections.changes import CollectionFields, create_collection
from crawling.uses.extraction.extractors import save_extractor
from crawlsite.api.root import api
from tests.api.conftest import SEED

#: an edit judges the parts of an order one after the other, by the rules of a new one; a preview
#: looks at filters only
ELSEWHERE = {("patch", "/api/v1/crawls/{crawl_id}"), ("post", "/api/v1/crawls/{crawl_id}/preview")}
WRONG = {"integer": True, "number": True}


def wrong_values(schema, parts):
    """Of an object's schema: each field that takes numbers, with what it must not take."""
    schema = parts[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    found = {}
    for name, field in schema.get("properties", {}).items():
        for one in field.get("anyOf", [field]):
            if one.get("type") in WRONG:
                found[name] = WRONG[one["type"]]
            elif one.get("type") == "array" and one["items"].get("type") in WRONG:
                found[name] = [WRONG[one["items"]["type"]]]
    return found


def test_no_body_takes_a_truth_value_for_a_number(programs, settings, order):
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    ids = {
        "crawl_id": create_crawl(order(SEED)).pk,
        "pool_id": default_pool().pk,
        "process_id": 1,
        "alert_id": save_listener(
            {"name": "a", "url": "https://example.org/", "events": ["failed"]},
            by=User.objects.create_superuser("alerter"),
        ).pk,
        "collection_id": create_collection(CollectionFields("Books"), by=None).pk,
        "extractor_id": save_extractor("Books", {"title": "h1"}, by=None).pk,
        "name": "192.0.2.53:53",
    }
    description = api.get_openapi_schema()
    asked, taken = 0, []
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = (
                wrong_values(content["schema"], description["components"]["schemas"])
                if content
                else {}
            )
            if not body or (method, path) in ELSEWHERE:
                continue
            asked += len(body)
            told = " ".join(
                programs["administrator"](
                    method.upper(), path.removeprefix("/api/v1/").format(**ids), body
                )[1].get("errors", {})
            )
            taken += [f"{method} {path}: {name}" for name in body if name not in told]

    assert asked > 30
    assert not taken, "\n".join(taken)
