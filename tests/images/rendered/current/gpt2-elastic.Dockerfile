# GPT-2 with workers that come and go: torchrun is the entry point, and finds the others through etcd or its own store.
ARG BASE_IMAGE=pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime
FROM ${BASE_IMAGE}

RUN pip install --no-cache-dir transformers==4.53.0 datasets==4.0.0 fsspec==2025.3.0 \
      numpy==2.2.6 pyyaml==6.0.2 tensorboard==2.20.0 python-etcd==0.4.5

COPY trainer /opt/playrunner/trainer
# No entry in /etc/passwd is needed for the user: PyTorch asks these instead.
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1 HOME=/tmp USER=trainer

WORKDIR /tmp
USER 1000:1000
ENTRYPOINT ["python", "-m", "torch.distributed.run"]
CMD ["--help"]
