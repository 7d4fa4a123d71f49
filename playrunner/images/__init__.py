"""Images: what goes into one, what builds it, and where it is kept.

As values     reference (a name in a registry), recipe (everything that goes in, and the tag that
              follows from it)
Going in      context (files), ignore (.dockerignore), workspace (what must not be laid over an
              image), dockerfile (its bases)
Building      builder (docker, podman, buildah) on a build_host (this machine or a jump host),
              chosen by choose; cluster_build (a Job)
Registries    registry (HTTP, by oras), credentials (which login), logins (docker's own file),
              settings (inventory variables)
"""
