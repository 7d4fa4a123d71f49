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

RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cu121 \
      torch==2.2.0 torchvision==0.17.0 \
 && pip install --no-cache-dir transformers==4.41.2 datasets==2.19.1 fsspec==2023.9.2 s3fs==2023.9.2 gcsfs==2023.9.2 aiobotocore==2.5.4 \
      numpy==1.26.4 pyyaml==6.0.1 tensorboard==2.17.0 python-etcd==0.4.5

COPY trainer /opt/playrunner/trainer
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1
RUN mkdir -p /fsdp /checkpoints && chown 1000:1000 /fsdp /checkpoints

WORKDIR /fsdp
USER 1000:1000
CMD ["python", "-m", "trainer", "--help"]
