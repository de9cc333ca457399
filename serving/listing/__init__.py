"""Lists that are defined once: the fields of a row define the endpoint and its description, the
headings of the table on the page, and the columns of files.
"""
