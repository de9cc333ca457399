"""What HTTP says of how long an answer may be used again (RFC 9111)."""
