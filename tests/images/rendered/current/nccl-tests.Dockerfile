# nccl-tests, to measure GPUs and the network between them, and the trainer; on the compiled part that was built here.
ARG BASE_IMAGE
# hadolint ignore=DL3006
FROM ${BASE_IMAGE}

RUN pip install --no-cache-dir numpy==2.2.6 pyyaml==6.0.2

COPY trainer /opt/playrunner/trainer
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1

# Root stays: the workers of an MPIJob start sshd.
CMD ["/opt/nccl-tests/build/all_reduce_perf", "-b", "8", "-e", "1G", "-f", "2", "-g", "1", "-c", "1"]
