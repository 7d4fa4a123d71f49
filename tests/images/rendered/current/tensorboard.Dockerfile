# TensorBoard, and nginx to ask for a password in front of it. The password is no part of the image: mount a Secret as
# /etc/nginx/auth/htpasswd where nginx runs.
ARG BASE_IMAGE=python:3.11.14-slim-bookworm
FROM ${BASE_IMAGE}

# Packages as the archive had them on one day.
# hadolint ignore=DL3008
RUN rm -f /etc/apt/sources.list.d/debian.sources \
 && printf 'deb [check-valid-until=no] http://snapshot.debian.org/archive/%s/20260201T000000Z %s main\n' \
      debian bookworm debian-security bookworm-security > /etc/apt/sources.list \
 && apt-get update \
 && apt-get install --yes --no-install-recommends nginx-light \
 && rm -rf /var/lib/apt/lists/*

RUN pip install --no-cache-dir numpy==2.2.6 pyyaml==6.0.2 tensorboard==2.20.0

COPY nginx.conf /etc/nginx/nginx.conf
COPY trainer /opt/playrunner/trainer
ENV PYTHONPATH=/opt/playrunner PYTHONUNBUFFERED=1
RUN groupadd --gid 1000 trainer && useradd --uid 1000 --gid 1000 --create-home trainer

WORKDIR /home/trainer
USER 1000:1000
EXPOSE 6006 8080
CMD ["tensorboard", "--logdir=/logs", "--host=127.0.0.1", "--port=6006"]
