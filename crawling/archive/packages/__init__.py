"""Files of archived runs and pages for other programs. Bytes of archive files stay where they are;
they are joined with a package's own stored bytes whenever the package is read.
"""
