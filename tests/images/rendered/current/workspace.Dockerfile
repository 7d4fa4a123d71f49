# An image of ours with a folder of yours laid over its working folder.
ARG BASE_IMAGE
# hadolint ignore=DL3006
FROM ${BASE_IMAGE}
# The folder is the image's own working folder.
# hadolint ignore=DL3045
COPY --chown=1000:1000 workspace/ ./
