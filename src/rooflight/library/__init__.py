"""The Python front door: questions to the model, and measurements of the machine."""
