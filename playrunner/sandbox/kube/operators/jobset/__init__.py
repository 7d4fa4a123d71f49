"""JobSet's controller: `jobs` makes the Jobs of a JobSet, `policies` says what a failed or finished
Job means for it, `progress` decides the next move from what is there (all pure), `controller` makes
it, `webhooks` completes and judges what is submitted."""
