"""Public data: one small bundled set, and a local folder of larger ones."""
