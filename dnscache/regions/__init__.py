"""The cache space of SEEDS D3-D10: two regions that are filled before they are needed.

Pure: the caller passes `now` and holds the lock.

`docs/conformance/dns-elements.md` says how each element of the patent is implemented; the decision
record beside it says where we differ and why.
"""
