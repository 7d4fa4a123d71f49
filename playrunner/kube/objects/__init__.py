"""Sets of objects: read from manifests, compared, applied in order and waited for."""
