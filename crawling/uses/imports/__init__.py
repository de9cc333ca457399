"""WARC and WACZ files of other crawlers become runs: a program of its own translates them into a
checkpoint, which is imported like any other.
"""
