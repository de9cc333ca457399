"""ReplayWeb.page, the program in the browser that shows WACZ files: a part that is installed apart
and served as it is released (docs/decisions/0090). Its licence is the AGPL, version 3 or later; no
code of ours contains or imports it.
"""

from __future__ import annotations

from crawling.machine.npm_package import NpmPackage

#: what is served: all that the player consists of, with its licence
SERVED = ("index.html", "sw.js", "ui.js", "LICENSE")
PLAYER = NpmPackage(
    name="replaywebpage",
    version="2.5.3",
    integrity="sha512-"
    "nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ==",
    files={name: name for name in SERVED},
)
