"""The documents tell the truth about the code."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from django.core.management import execute_from_command_line, get_commands
from django.urls import resolve

from crawling.orders.field_table import as_markdown
from crawlsite import env, service_addresses

PROJECT = Path(__file__).parent.parent
SETTINGS = (PROJECT / "docs" / "settings.md").read_text()
DEPENDENCIES = (PROJECT / "docs" / "dependencies.md").read_text()
GLOSSARY = PROJECT / "docs" / "glossary.md"
#: places whose text is not ours
FOREIGN = {".venv", ".local", ".pytest_cache", "vendor", "staticfiles"}
#: defaults that are told in words, since they differ from machine to machine or are empty
IN_WORDS = {
    "DATABASE_URL": "the embedded PostgreSQL",
    "DATABASE_DIRECT_URL": "none",
    "REDIS_URL": "the embedded Valkey",
    "SECRET_KEY": "kept in STATE_DIR",
    "PUBLIC_URL": "none",
    "REPLAY_URL": "none",
    "DNS_SERVERS": "the system's",
    "ARCHIVE_DIR": "`archive` in STATE_DIR",
    "ARCHIVE_URL": "none: the archive is in ARCHIVE_DIR",
    "SEED_DIR": "`seeds` in STATE_DIR",
    "IMPORT_DIR": "`imports` in STATE_DIR",
    "CHECKPOINT_DIR": "none: off",
    "MAIL_URL": "none: no alerts by e-mail",
}


def files(*suffixes: str) -> list[Path]:
    found = (path for path in PROJECT.rglob("*") if path.suffix in suffixes)
    return sorted(path for path in found if not FOREIGN & set(path.relative_to(PROJECT).parts))


DOCUMENTS = files(".md")


def named(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of all tables between a heading and the next of its level, without the tables'
    heads.
    """
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]
    assert cells, f"no table under {heading}"
    return cells


def code_in(text: str) -> list[str]:
    """The pieces in backticks, in fences, or indented as code."""
    return (
        re.findall(r"`([^`\n]+)`", text)
        + re.findall(r"^ {4,}(\S.*)$", text, re.M)
        + re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
    )


def in_table(name: str, value: object) -> str:
    """A default as the table writes it."""
    if name in IN_WORDS:
        return IN_WORDS[name]
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{value}`"


@pytest.fixture
def defaults(monkeypatch, tmp_path) -> env.Environment:
    """The settings of a machine on which nothing is set; the key that reading makes is kept out of
    the project.
    """
    for name in env.Environment.names():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(env, "BASE_DIR", tmp_path)
    return env.read()


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text().splitlines()) <= 110


def test_settings_table_has_every_variable_in_the_order_of_the_code():
    assert [row[0] for row in rows(SETTINGS, "Settings")] == [
        f"`{name}`" for name in env.Environment.names()
    ]


def test_settings_table_tells_the_defaults_of_the_code(defaults, tmp_path):
    told = {row[0].strip("`"): row[1] for row in rows(SETTINGS, "Settings")}

    values = {name: getattr(defaults, name.lower()) for name in env.Environment.names()}
    values["STATE_DIR"] = values["STATE_DIR"].relative_to(tmp_path)
    assert told == {name: in_table(name, value) for name, value in values.items()}


def test_defaults_told_in_words_are_what_the_words_say(defaults):
    assert defaults.database_url == service_addresses.database_url(defaults.state_dir)
    assert defaults.redis_url == service_addresses.redis_url(defaults.state_dir)
    assert defaults.secret_key == (defaults.state_dir / "secret_key").read_text()
    assert (defaults.public_url, defaults.dns_servers) == ("", ())
    assert defaults.archive_dir == defaults.state_dir / "archive"


def test_the_page_of_an_orders_fields_is_that_of_the_code():
    """`manage.py order_fields > docs/orders.md` writes it anew."""
    assert (PROJECT / "docs" / "orders.md").read_text() == as_markdown()


def test_every_setting_has_a_meaning():
    assert not [
        row[0] for row in rows(SETTINGS, "Settings") if len(row) != 3 or not row[2].strip("| ")
    ]


def test_dependencies_table_and_requirements_agree():
    required = [
        re.split(r"[\[<>=~!]", line)[0]
        for name in ("requirements.in", "requirements-dev.in")
        for line in (PROJECT / name).read_text().splitlines()
        if line and line[0] not in "#-"
    ]

    assert [row[0].strip("`") for row in rows(DEPENDENCIES, "Dependencies")] == required


def test_every_make_target_that_documents_name_exists():
    targets = set(re.findall(r"^([a-z-]+):.*## ", (PROJECT / "Makefile").read_text(), re.M))
    named_targets = {
        (word, named(path))
        for path in DOCUMENTS
        for code in code_in(path.read_text())
        for word in make_words(code)
    }

    assert {("run", "README.md"), ("test", "README.md")} <= named_targets
    assert not {(word, path) for word, path in named_targets if word not in targets}


def make_words(code: str) -> list[str]:
    return re.findall(r"(?:^|\s)make (?:[A-Z]+=\S+ )*([a-z-]+)", code)


@pytest.mark.slow
def test_crawl_is_short_for_the_management_command_from_any_directory(tmp_path):
    shown = subprocess.run(
        [PROJECT / "crawl", "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert "./crawl list" in shown.stdout


@pytest.mark.parametrize(
    ("words", "usage"),
    [(["--help"], "usage: ./crawl "), (["new", "--help"], "usage: ./crawl new ")],
)
def test_crawl_calls_itself_in_its_help_as_it_is_called(words, usage, capsys):
    with pytest.raises(SystemExit):
        execute_from_command_line(["manage.py", "crawl", *words])

    assert capsys.readouterr().out.startswith(usage)


def test_every_management_command_that_documents_name_exists():
    commands = {
        word for path in DOCUMENTS for word in re.findall(r"manage\.py ([a-z_]+)", path.read_text())
    }

    assert {"identify", "api_token"} <= commands
    assert commands <= set(get_commands())


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_relative_link_leads_to_a_file(path):
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text())
    targets = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:", link)]

    assert not [target for target in targets if target and not (path.parent / target).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_file_of_ours_that_a_document_names_exists(path):
    """`crawling/frontier/types.py` and the like; a name with capitals (`NAME.py`) stands for one
    that a reader chooses.
    """
    told = re.findall(
        r"`((?:allocation|crawling|crawlsite|dnscache|experiments|docs|templates|tests)"
        r"/[a-z0-9_/.-]+)`",
        path.read_text(),
    )

    assert not [name for name in told if not (PROJECT / name).exists()]


DECISIONS = sorted((PROJECT / "docs" / "decisions").glob("[0-9]*.md"))


@pytest.mark.parametrize("path", DECISIONS, ids=named)
def test_a_decision_record_is_one_page_of_context_choice_and_consequences(path):
    lines = path.read_text().splitlines()

    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100
    assert re.findall(r"^## (.*)", path.read_text(), re.M) == ["Context", "Choice", "Consequences"]


def test_each_decision_stands_once_under_a_part_of_the_house_with_the_rule_that_holds():
    listed = (PROJECT / "docs" / "decisions" / "README.md").read_text()
    numbers = [re.match(r"# (\d+)\. ", path.read_text()) for path in DECISIONS]
    row = r"^- \[(\d+)\]\((.*?)\) (.*)$"
    parts = [re.findall(row, part, re.M) for part in listed.split("\n## ")[1:]]

    assert sorted((number, name) for part in parts for number, name, _ in part) == sorted(
        (number[1], path.name) for number, path in zip(numbers, DECISIONS, strict=True) if number
    )
    assert all(part == sorted(part, key=lambda row: row[1]) for part in parts)
    assert all(parts)
    assert not [rule for part in parts for *_, rule in part if len(rule) > 100 or rule[-1] != "."]


def test_each_table_and_measurement_stands_once_under_its_title():
    folder = PROJECT / "docs" / "figures"
    titles = {path.name: path.read_text().split("\n")[0] for path in folder.glob("[0-9]*.md")}
    listed = re.findall(r"^- \[(.*)\]\((.*)\)$", (folder / "README.md").read_text(), re.M)

    assert sorted(listed) == sorted((title.removeprefix("# "), n) for n, title in titles.items())


#: documents that say which test shows what -> the folder in which their tests are
ELEMENTS = {
    "docs/conformance/allocation-elements.md": "tests/allocation",
    "docs/conformance/crawler-elements.md": "tests/crawling",
    "docs/conformance/dns-elements.md": "tests/dnscache",
    "docs/conformance/named-crawlers.md": "tests/crawling",
    "docs/conformance/dashboard.md": "tests/crawling",
}


def shown_by(document: str) -> set[tuple[Path, str]]:
    """The files of tests that a document names, each with the test in it, or "" for all of them."""
    told = re.findall(
        r"`((?:[a-z_]+/)*test_[a-z0-9_]+\.py)(?:::([a-z0-9_]+))?`", (PROJECT / document).read_text()
    )
    return {
        (PROJECT / ("" if file.startswith("tests/") else ELEMENTS[document]) / file, test)
        for file, test in told
    }


@pytest.mark.parametrize("document", ELEMENTS)
def test_every_test_that_a_document_names_exists(document):
    told = shown_by(document)

    assert len(told) > 10
    assert not [named(file) for file, _ in told if not file.exists()]
    assert not [
        f"{named(file)}::{test}"
        for file, test in sorted(told)
        if test and not re.search(rf"^def {test}\(", file.read_text(), re.M)
    ]


def test_every_item_of_the_dashboard_is_shown_by_something():
    tables = (PROJECT / "docs" / "conformance" / "dashboard.md").read_text().split("\n## ")[1:3]
    for table, items in zip(tables, (24, 12), strict=True):
        cells = [
            line.strip("| ").split(" | ")
            for line in table.splitlines()
            if re.match(r"\| \d+ \|", line)
        ]
        assert [row[0] for row in cells] == [str(number) for number in range(1, items + 1)]
        assert all(len(row) == 4 and ("test_" in row[3] or ".png" in row[3]) for row in cells)


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_documents_name_no_path_of_a_particular_machine(path):
    """No home or work directory of a person; under /tmp only what the product itself makes
    there.
    """
    places = re.findall(
        r"(?<![\w.:/])/(?:home|root|Users|work|mnt|media|tmp(?!/crawlsite-HASH))/\w[^\s`)]*",
        path.read_text(),
    )

    assert not places


def defined_words() -> list[str]:
    return [
        word.strip()
        for words in re.findall(r"^\*\*(.+?)\*\*", GLOSSARY.read_text(), re.M)
        for word in words.split(",")
    ]


@pytest.fixture(scope="module")
def everything_written() -> str:
    """All code, templates and documents but the glossary itself and the tests, in small letters."""
    own = [
        path
        for path in files(".py", ".html", ".md")
        if path != GLOSSARY and "tests" not in path.relative_to(PROJECT).parts
    ]
    return "\n".join(path.read_text() for path in own).lower()


@pytest.mark.parametrize("word", defined_words())
def test_every_word_of_the_glossary_is_used(word, everything_written):
    spelling = re.escape(word.lower()).replace(r"\ ", r"[ _\n]*")

    found = re.search(rf"(?<![a-z]){spelling}(?:s|es)?(?![a-z])", everything_written)
    assert found, f"nothing but the glossary says {word!r}"


def test_glossary_defines_each_word_once_in_order_of_the_alphabet():
    firsts = [
        words.split(",")[0].lower()
        for words in re.findall(r"^\*\*(.+?)\*\*", GLOSSARY.read_text(), re.M)
    ]

    assert firsts == sorted(firsts)
    assert len(set(defined_words())) == len(defined_words())


#: ways in, which name the settings module
SERVERS = ("manage.py", "crawlsite/wsgi.py", "crawlsite/replay/origin.py")


def test_no_setting_is_read_behind_the_tables_back():
    """Another reader of the environment would have a setting that no table tells of."""
    readers = {
        named(path) for path in files(".py") if re.search(r"os\.(environ|getenv)", path.read_text())
    }
    ours = {path for path in readers if not path.startswith("tests/") and path not in SERVERS}
    ours.remove("crawlsite/replay/player.py")  # it reads none, and tells which ones npm gets
    ours.remove("crawling/web/rendering/program.py")  # it reads none, and tells Playwright of some

    assert ours == {"crawlsite/env.py"}


def test_the_version_under_work_is_the_first_of_the_changelog():
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    headings = re.findall(r"^## (.*)$", (PROJECT / "CHANGELOG.md").read_text(), re.M)

    under_work, released = headings[:1], headings
    if version.endswith(".dev0"):
        assert under_work == [f"Unreleased: {version.removesuffix('.dev0')}"]
        released = headings[1:]
    else:
        assert released[0].startswith(f"{version}, ")
    assert all(re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d", one) for one in released)


CONFORMANCE = (PROJECT / "docs" / "conformance" / "README.md").read_text()
#: the last number of each source
KEYS = {"A": 6, "P": 6, "D": 12, "W": 16, "B": 14}


def test_each_key_of_the_source_documents_has_its_pages_and_they_exist():
    rows = re.findall(r"^\| ([APDWB]\d[^|]*) \|([^|]*)\|", CONFORMANCE, re.M)
    told = set()
    for keys, _ in rows:
        for letter, first, last in re.findall(r"([APDWB])(\d+)(?:–[APDWB](\d+))?", keys):
            told |= {f"{letter}{n}" for n in range(int(first), int(last or first) + 1)}
    addresses = [path for _, cell in rows for path in re.findall(r"`(/[^`]*)`", cell)]

    assert told == {f"{letter}{n}" for letter, most in KEYS.items() for n in range(1, most + 1)}
    for address in addresses:
        assert resolve(address.replace("/N/", "/1/").replace("/N/", "/1/"))
