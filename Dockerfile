# nandlab in a container: `docker build --tag nandlab .`, then for a report in the current folder
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/here" nandlab demo
# `disk try` needs the kernel's FUSE: docker run --rm --device /dev/fuse --cap-add SYS_ADMIN nandlab disk try -- ls
# release/docker_steps.py runs these steps without docker.

FROM rust:1-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /nandlab
COPY . .
RUN make .venv/.release && .venv/bin/python release/wheel.py build

FROM python:3.12-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends e2fsprogs fuse2fs fuse3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /nandlab/dist /wheels
RUN pip install --no-cache-dir --find-links /wheels "nandlab[policies]" && rm -r /wheels && nandlab --version
WORKDIR /here
ENTRYPOINT ["nandlab"]
CMD ["--help"]
