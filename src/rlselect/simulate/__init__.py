"""Seeded data generators of the papers."""
