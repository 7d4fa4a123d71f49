"""A run on a cluster as a value: the job, its pods, their size, and what is rendered from them."""
