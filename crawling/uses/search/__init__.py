"""The search index with the texts of stored pages, made from the files of texts beside the
archive.
"""
