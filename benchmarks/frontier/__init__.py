"""What the frontier costs, link by link."""
