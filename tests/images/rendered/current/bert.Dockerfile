# BERT on Trainium: the Neuron runtime, compiler and PyTorch, EFA, and the trainer.
ARG BASE_IMAGE=ubuntu:jammy-20250730
FROM ${BASE_IMAGE}

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ENV DEBIAN_FRONTEND=noninteractive

# Packages as the archive had them on one day. The first of them bring the certificates that TLS needs; until then the archive's
# signatures alone vouch for what comes.
# hadolint ignore=DL3008
RUN sed -i -E 's|^deb http://[^ ]+ |deb [check-valid-until=no] https://snapshot.ubuntu.com/ubuntu/20260201T000000Z |' /etc/apt/sources.list \
 && apt-get -o Acquire::https::Verify-Peer=false update \
 && apt-get -o Acquire::https::Verify-Peer=false install --yes --no-install-recommends ca-certificates \
 && apt-get install --yes --no-install-recommends \
      build-essential curl gnupg iproute2 libxml2 pciutils python-is-python3 python3 python3-dev python3-pip \
 && rm -rf /var/lib/apt/lists/*

RUN curl -fsSL https://apt.repos.neuron.amazonaws.com/GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB | gpg --dearmor -o /usr/share/keyrings/neuron.gpg \
 && echo 'deb [signed-by=/usr/share/keyrings/neuron.gpg] https://apt.repos.neuron.amazonaws.com jammy main' > /etc/apt/sources.list.d/neuron.list \
 && apt-get update \
 && apt-get install --yes --no-install-recommends \
      aws-neuronx-collectives=2.31.24.0-1a31ba186 \
      aws-neuronx-runtime-lib=2.31.24.0-0b044f4ce \
      aws-neuronx-tools=2.29.22.0-b486b0ade \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /tmp/efa
RUN curl -fsSL -o efa.tar.gz https://efa-installer.amazonaws.com/aws-efa-installer-1.47.0.tar.gz \
 && curl -fsSL -o efa.sig https://efa-installer.amazonaws.com/aws-efa-installer-1.47.0.tar.gz.sig \
 && curl -fsSL https://efa-installer.amazonaws.com/aws-efa-installer.key | gpg --batch --import \
 && gpg --batch --verify efa.sig efa.tar.gz \
 && tar -xf efa.tar.gz --strip-components=1 \
 && apt-get update \
 && ./efa_installer.sh -y -g -d --skip-kmod --skip-limit-conf --no-verify \
 && rm -rf /tmp/efa /root/.gnupg /var/lib/apt/lists/*

RUN pip install --no-cache-dir --extra-index-url https://pip.repos.neuron.amazonaws.com \
      neuronx-cc==2.24.8799.0 torch-neuronx==2.9.0.2.13.26312 \
 && pip install --no-cache-dir fsspec==2025.3.0 s3fs==2025.3.0 aiobotocore==2.26.0 h5py==3.14.0 pyyaml==6.0.2 tensorboard==2.20.0

ENV LD_LIBRARY_PATH=/opt/aws/neuron/lib:/opt/amazon/efa/lib:/opt/amazon/efa/lib64:/opt/amazon/openmpi/lib64 \
    PATH=/opt/aws/neuron/bin:/opt/amazon/efa/bin:${PATH} \
    TERM=screen

COPY trainer /opt/playrunner/trainer
COPY neuron-check /usr/local/bin/neuron-check
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1
RUN groupadd --gid 1000 trainer && useradd --uid 1000 --gid 1000 --create-home trainer

WORKDIR /home/trainer
USER 1000:1000
CMD ["neuron-check"]
