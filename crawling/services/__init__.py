"""Everything that changes a crawl, its runs and their shifts; doors call these and nothing else."""
