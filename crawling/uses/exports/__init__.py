"""Files that a run is made into for other programs: asked for, written by a job, given out."""
