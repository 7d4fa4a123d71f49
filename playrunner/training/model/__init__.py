"""Using a run's trained model: exporting, generating, evaluating and importing, wherever it is."""
