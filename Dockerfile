# The two commands in a container, on the CPU:
#   docker build -t edit-eval .
#   docker run --rm --init edit-eval              # make demo; needs no network
#   docker run --rm --init edit-eval make test    # installs what the tests need, then runs them
# With the tests in a browser: docker build --build-arg PACKAGES="chromium fonts-noto-cjk" -t edit-eval .
FROM python:3.13-slim

# Debian has one version of each at a time, and takes the older ones away.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends make git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home --shell /bin/bash tester \
    && install --directory --owner tester --group tester /edit-eval

ARG PACKAGES=""
# hadolint ignore=DL3008,SC2086
RUN if [ -n "$PACKAGES" ]; then \
        apt-get update && apt-get install -y --no-install-recommends $PACKAGES && rm -rf /var/lib/apt/lists/*; \
    fi

# Without it `make test` would download several gigabytes of CUDA libraries.
ENV UV_TORCH_BACKEND=cpu

USER 1000
WORKDIR /edit-eval
COPY --chown=tester:tester . .
RUN make .venv/.core
CMD ["make", "demo"]
