"""What is done with a URL, in order: may it be fetched, fetch it, read it, say what became of it (SEEDS B11)."""
