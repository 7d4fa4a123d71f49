"""Connections to containers: docker, podman and pods."""
