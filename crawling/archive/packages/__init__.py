"""Files of archived runs and pages for other programs. A package stores only its own bytes; the
bytes of archive files are added to them whenever the package is read.
"""
