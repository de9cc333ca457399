"""All data of a run as files: pages, texts, tables, extracted fields, links and structured data."""
