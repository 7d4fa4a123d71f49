# GPT-2 with workers that come and go: torchrun is the entry point, and finds the others through etcd or its own store.
ARG BASE_IMAGE=pytorch/pytorch:2.2.0-cuda12.1-cudnn8-runtime
FROM ${BASE_IMAGE}

# Pods of a deepspeedjob reach one another over SSH; the packages are those that the archive had on one day.
# hadolint ignore=DL3008
RUN sed -i -E 's|^deb (\[[^]]*\] )?https?://[^ ]*ubuntu[^ ]* |deb [check-valid-until=no] https://snapshot.ubuntu.com/ubuntu/20240615T000000Z |' /etc/apt/sources.list \
 && apt-get update \
 && apt-get install --yes --no-install-recommends openssh-client openssh-server \
 && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* \
 && groupadd --gid 1000 trainer && useradd --uid 1000 --gid 1000 --home-dir /tmp --no-create-home trainer

RUN pip install --no-cache-dir transformers==4.41.2 datasets==2.19.1 fsspec==2023.9.2 s3fs==2023.9.2 gcsfs==2023.9.2 aiobotocore==2.5.4 \
      numpy==1.26.4 pyyaml==6.0.1 tensorboard==2.17.0 python-etcd==0.4.5 \
      deepspeed==0.19.7

COPY trainer /opt/playrunner/trainer
# PyTorch asks these where the machine does not know the user.
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1 HOME=/tmp USER=trainer

WORKDIR /tmp
USER 1000:1000
ENTRYPOINT ["python", "-m", "torch.distributed.run"]
CMD ["--help"]
