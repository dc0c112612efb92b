"""Rows of monitoring: which of one time belong together, what follows from them, and the rules that judge them."""
