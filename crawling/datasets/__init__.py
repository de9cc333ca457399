"""The links dataset: all links of a run's pages, in Parquet files next to the archive."""
