"""Lists that are said once: from the fields of a row come the endpoint and its description, the
heads of the table on the page, and the columns of files.
"""
