"""The regression web: servers on loopback for whole crawls, and what each crawl must give.

`synthetic.py` is a web without faults that follows from a few numbers, and `rendered/` has sites
whose pages need a browser. The rest is the regression web. Each *case* is a host whose server does
one hostile or odd thing. Real workers crawl all cases. Each case is judged by what its server was
asked and by the rows that the crawl left.

To add a case, append a `Case` (`case.py`) to `CASES` of the module in `cases/` that has its
subject. A new module needs a line in `cases/__init__.py`.

`make drill ARGS="-s tests/webs"` crawls every case alone and prints the rows of a table; with `-k`
and a part of a case's name it runs only that one. `small=True` also runs a case in `make test`,
where all small cases are crawled at once and share about 30 s: use it for cases that end within a
few seconds, or that wait without work.

    Case(
        "a length with a sign",                     # unique; says what the server does
        {"/": answer(b"x" * 100, {"Content-Length": "+100"})},
        verdict=("f", FetchStatus.BROKEN_ANSWER),   # state and status of the seed's row
        tries=1,                                    # requests for the seed's path
    )
"""
