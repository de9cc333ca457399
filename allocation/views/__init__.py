"""The pages about resources."""
