"""Who is told what, and by which way."""
