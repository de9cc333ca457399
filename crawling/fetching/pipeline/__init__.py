"""One visit to one host: the stages that each URL passes."""
