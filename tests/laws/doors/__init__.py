"""One question put to every door: what each is asked, what its numbers are called, where two disagree today."""
