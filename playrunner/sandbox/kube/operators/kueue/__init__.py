"""Kueue: `demand` (what a job's pods ask for, and whether a queue has room) is the pure half,
`controller` admits jobs by it, `webhooks` judges."""
