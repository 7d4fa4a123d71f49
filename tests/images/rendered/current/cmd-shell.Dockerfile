# A shell in the cluster, to stage data: the AWS CLI, and the trainer's own tools to prepare it.
ARG BASE_IMAGE=python:3.11.14-slim-bookworm
FROM ${BASE_IMAGE}

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# Packages as the archive had them on one day.
# hadolint ignore=DL3008
RUN rm -f /etc/apt/sources.list.d/debian.sources \
 && printf 'deb [check-valid-until=no] http://snapshot.debian.org/archive/%s/20260201T000000Z %s main\n' \
      debian bookworm debian-security bookworm-security > /etc/apt/sources.list \
 && apt-get update \
 && apt-get install --yes --no-install-recommends curl iputils-ping unzip \
 && rm -rf /var/lib/apt/lists/*

RUN curl -fsSL -o /tmp/aws.zip https://awscli.amazonaws.com/awscli-exe-linux-x86_64-2.27.50.zip \
 && unzip -q /tmp/aws.zip -d /tmp \
 && /tmp/aws/install \
 && rm -rf /tmp/aws /tmp/aws.zip

RUN pip install --no-cache-dir fsspec==2025.3.0 s3fs==2025.3.0 gcsfs==2025.3.0 aiobotocore==2.26.0 numpy==2.2.6 pyyaml==6.0.2

COPY trainer /opt/playrunner/trainer
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1
RUN groupadd --gid 1000 trainer && useradd --uid 1000 --gid 1000 --create-home trainer

WORKDIR /home/trainer
USER 1000:1000
CMD ["sleep", "infinity"]
