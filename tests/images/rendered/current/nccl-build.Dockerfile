# The compiled part of all images for GPUs: GDRCopy, EFA, NCCL and nccl-tests, built for the GPUs of the instance table.
# Nothing of ours is in it: building takes over half an hour, and must not be repeated for a line of Python.
ARG BASE_IMAGE=nvidia/cuda:12.9.1-devel-ubuntu22.04
FROM ${BASE_IMAGE}

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ENV DEBIAN_FRONTEND=noninteractive

# Packages as the archive had them on one day. What the distribution has of InfiniBand and NCCL would be found first, so it goes.
# hadolint ignore=DL3008
RUN sed -i -E 's|^deb (\[[^]]*\] )?https?://[^ ]*ubuntu[^ ]* |deb [check-valid-until=no] https://snapshot.ubuntu.com/ubuntu/20260201T000000Z |' /etc/apt/sources.list \
 && rm -f /etc/apt/sources.list.d/cuda*.list \
 && apt-get update \
 && { dpkg-query --show --showformat='${Package}\n' 'ibverbs*' 'libibverbs*' 'libmlx5*' 'libnccl*' 2>/dev/null || true; } \
      | xargs --no-run-if-empty apt-get remove --yes --allow-change-held-packages \
 && rm -rf /opt/hpcx /usr/local/mpi /etc/ld.so.conf.d/hpcx.conf \
 && apt-get install --yes --no-install-recommends \
      autoconf automake build-essential ca-certificates check cmake curl git gnupg iproute2 kmod libhwloc-dev libnuma-dev libsubunit-dev \
      libtool openssh-client openssh-server pkg-config python-is-python3 python3 python3-dev python3-pip \
 && rm -rf /var/lib/apt/lists/*

# mpirun reaches its workers over SSH. All pods of a job run this image, and so have its host keys: those are what a worker is
# known by, and a pod of another image is refused. Who may pull the image has the keys: they tell pods apart, and guard no more.
RUN mkdir -p /var/run/sshd \
 && ssh-keygen -A \
 && sed 's/^/*-worker-* /' /etc/ssh/ssh_host_*_key.pub > /etc/ssh/ssh_known_hosts

RUN pip install --no-cache-dir awscli==1.43.5 pynvml==12.0.0

ENV CUDA_HOME=/usr/local/cuda

RUN git clone --depth 1 --branch v2.5.1 https://github.com/NVIDIA/gdrcopy.git /tmp/gdrcopy \
 && make -C /tmp/gdrcopy -j"$(nproc)" prefix=/opt/gdrcopy CUDA="${CUDA_HOME}" install \
 && rm -rf /tmp/gdrcopy

WORKDIR /tmp/efa
RUN curl -fsSL -o efa.tar.gz https://efa-installer.amazonaws.com/aws-efa-installer-1.47.0.tar.gz \
 && curl -fsSL -o efa.sig https://efa-installer.amazonaws.com/aws-efa-installer-1.47.0.tar.gz.sig \
 && curl -fsSL https://efa-installer.amazonaws.com/aws-efa-installer.key | gpg --batch --import \
 && gpg --batch --verify efa.sig efa.tar.gz \
 && tar -xf efa.tar.gz --strip-components=1 \
 && apt-get update \
 && ./efa_installer.sh -y -g -d --skip-kmod --skip-limit-conf --no-verify \
 && rm -rf /tmp/efa /root/.gnupg /var/lib/apt/lists/*

WORKDIR /opt
RUN git clone --depth 1 --branch v2.29.3-1 https://github.com/NVIDIA/nccl.git /opt/nccl \
 && make -C /opt/nccl -j"$(nproc)" src.build CUDA_HOME="${CUDA_HOME}" NVCC_GENCODE="-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_86,code=sm_86 -gencode=arch=compute_89,code=sm_89 -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_100,code=sm_100" \
 && rm -rf /opt/nccl/.git /opt/nccl/build/obj

RUN git clone --depth 1 --branch v2.17.9 https://github.com/NVIDIA/nccl-tests.git /opt/nccl-tests \
 && make -C /opt/nccl-tests -j"$(nproc)" MPI=1 MPI_HOME=/opt/amazon/openmpi CUDA_HOME="${CUDA_HOME}" NCCL_HOME=/opt/nccl/build \
      NVCC_GENCODE="-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_86,code=sm_86 -gencode=arch=compute_89,code=sm_89 -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_100,code=sm_100" \
 && rm -rf /opt/nccl-tests/.git

ENV LD_LIBRARY_PATH=/usr/local/cuda/extras/CUPTI/lib64:/opt/amazon/openmpi/lib:/opt/nccl/build/lib:/opt/amazon/efa/lib:/opt/amazon/ofi-nccl/lib:/opt/gdrcopy/lib:/usr/local/lib \
    PATH=/opt/amazon/openmpi/bin:/opt/amazon/efa/bin:/opt/nccl-tests/build:${PATH} \
    OPAL_PREFIX=/opt/amazon/openmpi \
    OMPI_MCA_pml=^ucx \
    OMPI_MCA_btl=tcp,self \
    OMPI_MCA_btl_tcp_if_exclude=lo,docker0,veth_def_agent \
    PMIX_MCA_gds=hash \
    NCCL_SOCKET_IFNAME=^docker,lo,veth \
    LD_PRELOAD=/opt/nccl/build/lib/libnccl.so

# An ordinary user for images that stand on this one.
RUN groupadd --gid 1000 trainer && useradd --uid 1000 --gid 1000 --create-home trainer
