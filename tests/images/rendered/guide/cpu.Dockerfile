# Training on CPUs with gloo: PyTorch without CUDA, and the trainer. Data is mounted or fetched, never copied in.
ARG BASE_IMAGE=python:3.11.9-slim-bookworm
FROM ${BASE_IMAGE}

RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch==2.2.0 \
 && pip install --no-cache-dir fsspec==2023.9.2 s3fs==2023.9.2 gcsfs==2023.9.2 aiobotocore==2.5.4 numpy==1.26.4 pyyaml==6.0.1 tensorboard==2.17.0

COPY trainer /opt/playrunner/trainer
# No entry in /etc/passwd is needed for the user: PyTorch asks these instead.
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 HOME=/tmp USER=trainer

WORKDIR /tmp
USER 1000:1000
CMD ["python", "-m", "trainer", "--help"]
