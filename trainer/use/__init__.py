"""Using a trained model: export it with its tokenizer, generate text, evaluate it, and import
weights to go on from. Needs transformers, which training itself does not."""
