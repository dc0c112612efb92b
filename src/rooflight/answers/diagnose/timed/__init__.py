"""One recorded run: its own numbers, the scenario that it ran as, and the prediction beside it."""
