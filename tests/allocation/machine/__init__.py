"""One set of rules, tried by chance on two banks: the pure core on paper, and PostgreSQL through
`allocation.services`.

`rules` draws what processes do; `book` is an honest clerk's copy of what must be true, whose safety
is the definition itself (some order finishes); `paper` and `rows` are the two banks.
`tests/mutants` holds the faults that it must find.
"""
