"""Several measurements of one thing: what differs between them, and what is fitted along it."""
