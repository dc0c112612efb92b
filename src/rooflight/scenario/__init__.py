"""A question made definite, and how a definite question is changed."""
