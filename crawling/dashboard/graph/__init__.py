"""The link graph of a run: ranked pages and hosts, components, the drawn hosts, files."""
