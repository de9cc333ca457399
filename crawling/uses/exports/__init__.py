"""Files made from runs for other programs: requested, written by a job, given out."""
