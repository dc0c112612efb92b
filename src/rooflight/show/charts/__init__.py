"""Charts: values in, Vega-Lite out. A chart is a declaration; its numbers are rows a plain function makes beside it."""
