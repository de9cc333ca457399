"""The processes of a browser, by what they do."""

import psutil


def is_part(process: psutil.Process, part: str) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:  # it ended with another
        return False
    if part == "program":
        return "crawling.web.rendering.program" in words
    if part == "driver":
        return "run-driver" in words
    if part == "browser":
        return "--remote-debugging-pipe" in words and "/bin/sh" not in words[0]
    return any(word == f"--type={part}" for word in words)
