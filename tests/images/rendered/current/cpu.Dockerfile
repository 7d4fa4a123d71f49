# Training on CPUs with gloo: PyTorch without CUDA, and the trainer. Data is mounted or fetched, never copied in.
ARG BASE_IMAGE=python:3.11.14-slim-bookworm
FROM ${BASE_IMAGE}

RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch==2.13.0 \
 && pip install --no-cache-dir fsspec==2025.3.0 s3fs==2025.3.0 gcsfs==2025.3.0 aiobotocore==2.26.0 numpy==2.2.6 pyyaml==6.0.2 tensorboard==2.20.0

COPY trainer /opt/playrunner/trainer
# No entry in /etc/passwd is needed for the user: PyTorch asks these instead.
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 HOME=/tmp USER=trainer

WORKDIR /tmp
USER 1000:1000
CMD ["python", "-m", "trainer", "--help"]
