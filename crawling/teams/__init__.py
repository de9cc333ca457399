"""Teams as a boundary: on which crawls a user acts."""
