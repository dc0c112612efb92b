"""Weight files -> Model: the headers of GGUF and safetensors, exact bytes of every part. No weights, no code."""
