"""What aws.preflight looks at before anything is made."""
