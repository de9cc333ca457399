"""The links of a run: back links and references, broken links, media and hosts."""
