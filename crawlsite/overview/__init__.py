"""The first page: what runs, what waits and on what, what needs somebody."""
