"""What views and endpoints of every package share: who may call them, and rows as files."""
