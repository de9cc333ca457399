"""The cache space of SEEDS D3-D10: two regions, built in advance.

Pure: the caller passes `now` and holds the lock.

`docs/conformance/dns-elements.md` says where each element of the patent stands; the record beside
it where we differ and why.
"""
