"""Using a trained model: generate text, evaluate it, send it, and import weights to go on from.
Needs transformers, which training itself does not."""
