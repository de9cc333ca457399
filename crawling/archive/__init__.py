"""The archive: every answer as it came, in WARC 1.1 files that are in step with the database (RFC
1952, ISO 28500).
"""
