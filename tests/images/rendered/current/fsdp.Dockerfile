# Llama with fully sharded data parallelism, on the compiled part of nccl-tests: the one that was built here, not one that happens
# to be public. It does not stand on nccl-tests itself, so that a line of Python does not install PyTorch anew.
ARG BASE_IMAGE
# hadolint ignore=DL3006
FROM ${BASE_IMAGE}

# nvtop shows what the GPUs do, in a shell in the pod; the archive is that of one day, set by the base.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends nvtop \
 && rm -rf /var/lib/apt/lists/*

RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cu128 \
      torch==2.7.1 torchvision==0.22.1 \
 && pip install --no-cache-dir transformers==4.53.0 datasets==4.0.0 fsspec==2025.3.0 s3fs==2025.3.0 gcsfs==2025.3.0 aiobotocore==2.26.0 \
      numpy==2.2.6 pyyaml==6.0.2 tensorboard==2.20.0

COPY trainer /opt/playrunner/trainer
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1
RUN mkdir -p /fsdp /checkpoints && chown 1000:1000 /fsdp /checkpoints

WORKDIR /fsdp
USER 1000:1000
CMD ["python", "-m", "trainer", "--help"]
