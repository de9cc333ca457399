"""One grammar for all endpoints: nouns in paths, verbs in operation ids, one name for a parameter,
one shape of lists and of errors.
"""

from __future__ import annotations

import re

from crawling.uses.planner.planned_crawl import PlannedCrawl
from tests.api.test_access import description

#: by method, the verbs an operation id may begin with; POST also takes a verb of its own, which
#: then ends the path or stands in ACTS
VERBS = {
    "get": {"list", "get", "search", "export"},
    "post": {"create"},
    "put": {"set", "replace"},
    "patch": {"update"},
    "delete": {"delete"},
}
#: verbs of POST on a collection: what is done is said by the body or by a parameter
ACTS = {
    "add_collection_members",
    "add_crawl_seeds",
    "apply_bulk_action",
    "apply_dns_name_action",
    "change_frontier_urls",
    "give_newest_revision",
    "judge_crawl_trap",
    "reset_user_password",
    "save_view",
}
#: verbs that end a path, of POST only
ENDS = {
    "abort",
    "ask-again",
    "check",
    "clone",
    "compute",
    "flush",
    "install",
    "mark-read",
    "pause",
    "preview",
    "renew",
    "resend",
    "resume",
    "retry-failed",
    "restore",
    "revert",
    "rewrite",
    "run-again",
    "start",
    "cancel",
    "stop",
    "test",
    "test-scope",
    "what-if",
}
#: there is one of each, or it has no plural
SINGLE = {
    "activity",
    "team-rule",
    "banker",
    "block",
    "deleted",
    "blocklist",
    "diagnosis",
    "disk",
    "capacity-plan",
    "dns",
    "export",
    "extracted",
    "frontier",
    "graph",
    "health",
    "identity",
    "latest-mirror",
    "log",
    "media",
    "mirror",
    "name-wait",
    "not-fetched",
    "overview",
    "owner",
    "page-cache",
    "password",
    "replay",
    "retention",
    "schedule",
    "search",
    "structured-data",
    "trend",
    "url-history",
    "wacz",
    "warc",
    "weekly-summary",
    "live-view",
    "rendering",
}
PARAMETERS = {
    "action",
    "after",
    "against",
    "all_runs",
    "change",
    "component",
    "crawl",
    "cursor",
    "everyone",
    "fields",
    "format",
    "hand_to",
    "has_fields",
    "host",
    "hours",
    "keep_seconds",
    "kind",
    "language",
    "level",
    "limit",
    "machine",
    "mark",
    "month",
    "name",
    "names",
    "other_crawl",
    "owner",
    "page",
    "path",
    "place",
    "preview",
    "process",
    "q",
    "reason",
    "rendering",
    "rules",
    "run",
    "since",
    "slow_seconds",
    "sort",
    "span",
    "state",
    "status",
    "tag",
    "target",
    "team",
    "type",
    "unread",
    "until",
    "url",
    "user",
    "which",
}
IDENTIFIER = re.compile(r"\{(\w+_(id|number)|action|data|key|kind|name|version)\}")
#: they answer with the most that matter, and have nothing behind those
WHOLE = {
    "list_crawl_directories",
    "list_dns_evictions",
    "list_failure_causes",
    "list_robots_exceptions",
}


def operations():
    """Method, path and description of each."""
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def misfits(fits):
    """The operations that do not fit; fits: says of a method, a path and a description whether
    they do.
    """
    asked = list(operations())
    assert len(asked) > 150
    return [
        f"{method} {path}" for method, path, operation in asked if not fits(method, path, operation)
    ]


def answered(operation):
    """The schema of the object that it answers with; None if it is none."""
    for status in ("200", "201", "202", 200, 201, 202):
        content = operation["responses"].get(status, {}).get("content", {})
        if reference := content.get("application/json", {}).get("schema", {}).get("$ref"):
            return description()["components"]["schemas"][reference.rpartition("/")[2]]
    return None


def queries(operation):
    return {one["name"] for one in operation["parameters"] if one["in"] == "query"}


def test_no_two_operations_have_one_id():
    ids = [operation["operationId"] for *_, operation in operations()]
    assert sorted(ids) == sorted(set(ids))


def has_a_fitting_verb(method, path, operation):
    name = operation["operationId"]
    verb, end = name.partition("_")[0], path.rpartition("/")[2]
    if not re.fullmatch(r"[a-z]+(_[a-z]+)+", name):
        return False
    is_named_by_its_end = name in ACTS or end.partition("-")[0] == verb or end == "what-if"
    return verb in VERBS[method] or (method == "post" and is_named_by_its_end)


def test_an_operation_is_named_by_a_verb_that_fits_its_method():
    assert misfits(has_a_fitting_verb) == []


def is_made_of_nouns(method, path, operation):
    *nouns, end = path.removeprefix("/api/v1/").split("/")
    if not end:
        return method == "get"  # the index
    if method == "post" and end in ENDS:
        end = nouns.pop()
    return all(
        IDENTIFIER.fullmatch(part)
        if part.startswith("{")
        else re.fullmatch(r"[a-z]+(-[a-z]+)*", part) and (part.endswith("s") or part in SINGLE)
        for part in [*nouns, end]
    )


def test_a_path_is_made_of_nouns_and_what_identifies_one():
    assert misfits(is_made_of_nouns) == []


def has_known_parameters(method, path, operation):
    own = PlannedCrawl.model_fields if path.endswith("/capacity-plan") else ()
    return queries(operation) <= {*PARAMETERS, *own}


def test_a_parameter_has_the_same_name_everywhere():
    assert misfits(has_known_parameters) == []


def is_paged_as_every_list(method, path, operation):
    schema, asked = answered(operation), queries(operation)
    is_list = operation["operationId"].startswith("list_")
    fields = schema["properties"] if schema else {}
    is_cut = "cursor" in asked
    if (is_list and "items" not in fields) or ("next" in fields) != is_cut:
        return False
    if is_cut:
        return "limit" in asked
    return not (is_list and "limit" in asked) or operation["operationId"] in WHOLE


def test_a_list_has_items_and_pages_by_cursor_and_limit():
    assert misfits(is_paged_as_every_list) == []


def tells_errors_like_all_others(method, path, operation):
    told = {str(status): answer for status, answer in operation["responses"].items()}
    return {"401", "403", "429"} <= told.keys() and all(
        answer["$ref"] == f"#/components/responses/{status}"
        for status, answer in told.items()
        if status >= "400"
    )


def test_every_error_has_the_same_shape():
    assert misfits(tells_errors_like_all_others) == []


def test_every_group_is_described_and_every_schema_used():
    whole = description()
    tags = {tag for *_, operation in operations() for tag in operation["tags"]}
    text = str(whole)
    unused = [
        name
        for name in whole["components"]["schemas"]
        if f"#/components/schemas/{name}'" not in text
    ]

    assert tags == {tag["name"] for tag in whole["tags"]}
    assert unused == []


def test_a_parameter_that_is_not_known_is_refused(operator):
    status, problem = operator("GET", "crawls?stat=failed")

    assert (status, problem["errors"]) == (422, {"stat": "is not a known parameter; omit it"})
    assert operator("GET", "crawls?state=failed")[0] == 200
