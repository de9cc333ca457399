"""The path of each document in a mirror: a folder for each host, and a file for each URL, with
names that all systems accept.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from unicodedata import normalize
from urllib.parse import quote, unquote

from crawling.web.addresses import Address, BadUrl, canonical_address, read_address
from crawling.web.file_names import file_name, folder_name

#: the longest path in a mirror: Windows opens paths of 260 characters, including the folder of the
#: mirror
LONGEST_PATH = 180
#: the most redirects of a chain that are followed
MOST_STEPS = 10
#: characters that must be escaped in a link in an attribute or a style sheet
QUOTED = {ord(sign): f"%{ord(sign):02X}" for sign in "\"'()<>\\ \t\n\r\f"}
TABLES = """
PRAGMA synchronous = off;
CREATE TABLE document (url TEXT PRIMARY KEY, path TEXT, target TEXT, page INTEGER);
CREATE TABLE taken (key TEXT PRIMARY KEY, is_folder INTEGER) WITHOUT ROWID;
"""
FIND = "SELECT path, target FROM document WHERE url = ?"


class FilePaths:
    """The paths of a mirror's documents, in an SQLite file.

    Names in one folder differ even if letter case and Unicode form are ignored.
    """

    def __init__(self, file: Path) -> None:
        """Open a file of paths, or begin it."""
        is_new = not file.exists()
        self._rows = sqlite3.connect(file)
        if is_new:
            self._rows.executescript(TABLES)

    def close(self) -> None:
        """Make the added paths readable for another process."""
        with closing(self._rows):
            self._rows.commit()

    def add(self, url: str, content_type: str, target: str = "", *, page: int = 0) -> str:
        """Assign a path to a URL. target: its redirect target. page: the id of its page."""
        address = canonical_address(url)
        folders = [part for part in map(folder_name, self._folders(address)) if part]
        name = file_name(address, content_type)
        if sum(map(len, folders)) + len(folders) + len(name) > LONGEST_PATH:
            folders = [*folders[:1], "long-addresses"]
            name = f"{_label(url, 16)}.{name.rpartition('.')[2]}"[:LONGEST_PATH]
        base = ""
        for part in folders:
            base = self._free_path(base, part, url, is_folder=True) + "/"
        path = self._free_path(base, name, url, is_folder=False)
        self._rows.execute("INSERT INTO document VALUES (?, ?, ?, ?)", [url, path, target, page])
        return path

    @staticmethod
    def _folders(address: Address) -> list[str]:
        steps = address.target.partition("?")[0].split("/")[:-1]
        return [address.host_key, *map(unquote, steps)]

    def reserve(self, path: str) -> None:
        """Reserve a path for a file that is no document."""
        self._rows.execute("INSERT INTO taken VALUES (?, 0)", [path])

    def _free_path(self, base: str, name: str, url: str, *, is_folder: bool) -> str:
        """A free path for `name` in the folder `base`. For a folder, an existing folder will do."""
        stem, dot, ending = ("", "", "") if is_folder else name.rpartition(".")
        stem = stem if dot else name
        ending = f"{dot}{ending}" if dot else ""
        whose = f"{base}{name}" if is_folder else url
        for label in ("", f"-{_label(whose, 8)}", f"-{_label(whose, 40)}"):
            path = f"{base}{stem}{label}{ending}"
            key = normalize("NFC", path).casefold()
            row = self._rows.execute("SELECT is_folder FROM taken WHERE key = ?", [key]).fetchone()
            if row is None:
                self._rows.execute("INSERT INTO taken VALUES (?, ?)", [key, is_folder])
            if row is None or (is_folder and row[0]):
                return path
        raise AssertionError(path)

    def path_of(self, url: str) -> str | None:
        """The path of a URL; None if the URL is no document of the mirror."""
        found = self._rows.execute(FIND, [url]).fetchone()
        return found[0] if found else None

    def page_id_of(self, url: str) -> int | None:
        """The id of the page with the URL's document; None if the mirror does not have it."""
        query = "SELECT page FROM document WHERE url = ?"
        found = self._rows.execute(query, [url]).fetchone()
        return found[0] if found else None

    def redirect_end(self, url: str) -> str | None:
        """The path of the document to which a URL redirects. None if the mirror does not have
        it.
        """
        path = None
        for _ in range(MOST_STEPS):
            found = self._rows.execute(FIND, [url]).fetchone()
            if found is None:
                break
            path, url = found
            if not url:
                break
        return path

    def rewritten_link(self, text: str, base: str, of: str) -> str:
        """The new form of a link in the file `of`: a relative link to a file of the mirror, or the
        whole address if the mirror has no file for it.

        base: the base of the document's relative links.
        """
        written = text.strip()
        try:
            url = read_address(written, base).url
        except BadUrl:
            return text
        _, mark, fragment = written.partition("#")
        path = self.redirect_end(url)
        address = url if path is None else relative_link(path, of)
        return f"{address}{mark}{fragment}".translate(QUOTED)


def relative_link(path: str, of: str) -> str:
    """A link from the file `of` to another; both are paths in the mirror."""
    steps, own = path.split("/"), of.split("/")[:-1]
    shared = 0
    while shared < min(len(steps) - 1, len(own)) and steps[shared] == own[shared]:
        shared += 1
    return "/".join([".."] * (len(own) - shared) + [quote(step) for step in steps[shared:]])


def _label(url: str, length: int) -> str:
    return sha256(url.encode()).hexdigest()[:length]
