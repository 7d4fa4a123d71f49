# GPT-2 with workers that come and go: torchrun is the entry point, and finds the others through etcd or its own store.
ARG BASE_IMAGE=pytorch/pytorch:2.2.0-cuda12.1-cudnn8-runtime
FROM ${BASE_IMAGE}

RUN pip install --no-cache-dir transformers==4.41.2 datasets==2.19.1 fsspec==2023.9.2 \
      numpy==1.26.4 pyyaml==6.0.1 tensorboard==2.17.0 python-etcd==0.4.5

COPY trainer /opt/playrunner/trainer
# No entry in /etc/passwd is needed for the user: PyTorch asks these instead.
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1 HOME=/tmp USER=trainer

WORKDIR /tmp
USER 1000:1000
ENTRYPOINT ["python", "-m", "torch.distributed.run"]
CMD ["--help"]
