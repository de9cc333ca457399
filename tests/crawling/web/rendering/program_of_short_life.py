"""The program with a browser that is replaced after two pages."""

from crawling.machine.sandbox_program import run_sandboxed
from crawling.web.rendering import engine, program

engine.PAGES_OF_A_BROWSER = 2

if __name__ == "__main__":
    run_sandboxed(program.main)
