"""Sentences, made of values where they are shown; nothing here computes."""
