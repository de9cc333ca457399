"""The links dataset: all links of a run's pages, in Parquet files beside the archive."""
