"""Runs as this machine knows them: records, states, and which run is meant."""
