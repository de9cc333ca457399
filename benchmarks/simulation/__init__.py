"""What more workers would reach, from costs that were measured with few."""
