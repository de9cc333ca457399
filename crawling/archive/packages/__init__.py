"""Files for other programs of archived runs and pages. Bytes of archive files stay where they are,
and are put together with the stored rest where a package is read.
"""
