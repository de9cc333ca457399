"""The program as it is where the kernel gives it no network namespace: Chromium's flags alone have
to keep it from the network.
"""

from crawling.machine.sandbox_program import run_sandboxed
from crawling.web.rendering import program

program.leave_network = lambda: False

if __name__ == "__main__":
    run_sandboxed(program.main)
