"""Sentences of `rooflight diagnose`: a module for each analysis, with one function `told(found) -> Told`."""
