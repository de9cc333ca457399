"""The search index: the texts of stored pages, made from the files that lie beside the archive."""
