"""What every cloud's resources share: reconciling, the call log, owner tags, prices."""
