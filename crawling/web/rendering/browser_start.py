"""Chromium is started by Playwright, as a user without rights, sandboxed where the kernel allows
it.
"""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import Browser, Error, Playwright

from crawling.web.rendering.chromium import NOBODY, NOT_WANTED, flags, write_launcher
from crawling.web.rendering.types import NoBrowserError

#: the launchers of the driver and of the browser
DRIVER_NAME, BROWSER_NAME = "driver", "chromium"
START_SECONDS = 20
#: shared memory is in /dev/shm if there is so much, or else in files of the folder
SHARED_FOLDER, SHARED_BYTES = "/dev/shm", 1024 * 1024 * 1024  # noqa: S108
#: the end of Playwright's message about a failed start, of which most is Chromium's command
MOST_WORDS = 400


class BrowserStart:
    def __init__(
        self, playwright: Playwright, folder: Path, executable: str, memory_bytes: int
    ) -> None:
        self._playwright, self._folder, self._memory = playwright, folder, memory_bytes
        user = NOBODY if os.geteuid() == 0 else None
        self._launcher = write_launcher(folder, BROWSER_NAME, executable, user)
        self.is_sandboxed = True
        #: the browsers that were started
        self.count = 0

    async def browser(self) -> Browser:
        """A new browser. Raises NoBrowserError."""
        try:
            browser = await self._launch()
        except Error as error:
            if self.count:  # the kernel allowed it before
                raise NoBrowserError("Chromium started once, and now does not.") from error
            self.is_sandboxed = False  # the kernel may not let a user make namespaces
            try:
                browser = await self._launch()
            except Error as error:
                words = str(error)[-MOST_WORDS:]
                raise NoBrowserError(f"Chromium does not start: {words}") from error
        self.count += 1
        return browser

    async def _launch(self) -> Browser:
        shared = os.statvfs(SHARED_FOLDER)
        unwanted = list(NOT_WANTED)
        if shared.f_bavail * shared.f_frsize > SHARED_BYTES:
            unwanted.append("--disable-dev-shm-usage")
        return await self._playwright.chromium.launch(
            executable_path=self._launcher,
            args=flags(self._memory),
            ignore_default_args=unwanted,
            chromium_sandbox=self.is_sandboxed,
            env={"HOME": str(self._folder), "TMPDIR": str(self._folder), "PATH": os.defpath},
            handle_sigterm=False,
            timeout=START_SECONDS * 1000,
        )
