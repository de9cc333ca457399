"""WARC and WACZ files of other crawlers become runs. A separate program translates them into a
checkpoint, which is imported like any other.
"""
