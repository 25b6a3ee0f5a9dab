"""Plain twins of clever code: slow, short, and written from the design alone."""
