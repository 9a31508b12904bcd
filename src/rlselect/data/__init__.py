"""The only door for data."""
