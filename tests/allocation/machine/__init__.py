"""One set of rules, applied at random to two banks: the pure core on paper, and PostgreSQL through
`allocation.services`.

`rules` draws what processes do; `book` keeps a separate record of what must be true, whose test of
safety is the definition itself (some order finishes); `paper` and `rows` are the two banks.
`tests/mutants` has the faults that these rules must find.
"""
