"""Moves: changes of a deployment or model, each evaluated, ranked and explained."""
