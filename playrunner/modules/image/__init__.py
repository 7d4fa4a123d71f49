"""Modules for container images: what one is made from, that it is built, that it is pushed, that it
is gone."""
