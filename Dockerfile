# tandem in a container; docs/containers.md shows how it runs on several hosts.
#
#   docker build --build-arg USER_ID=$(id -u) --tag tandem:cpu .
#   docker build --build-arg USER_ID=$(id -u) --build-arg VARIANT=cuda --tag tandem:cuda .
#
# `cpu` is the Debian package on the distribution's libtorch; `cuda` is built against the PyPI package of PyTorch, which
# brings CUDA's libraries: several GB. docs/reference.md says what of them has been run on a GPU.
#
# `make -f Makefile.hpc container-test` builds and runs `cpu`. `make -f Makefile.hpc package-test` runs its RUN steps in a
# fresh Debian that stands for its base image, and in `cuda` looks only whether packages and files exist.
ARG VARIANT=cpu

FROM debian:bookworm AS source
RUN apt-get update && apt-get install --yes --no-install-recommends make
WORKDIR /src
COPY . .

# The path of a tandem_*.deb in this folder, to take it in place of compiling; .dockerignore leaves build/ out.
FROM source AS build-cpu
ARG PACKAGE=
RUN mkdir /out \
 && if [ -n "${PACKAGE}" ]; then cp "${PACKAGE}" /out/tandem.deb; \
    else make -f Makefile.hpc package && cp build/tandem_*.deb /out/tandem.deb; fi

FROM source AS build-cuda
RUN make -f Makefile.hpc install LIBTORCH=wheel WHEEL=/opt/torch PREFIX=/opt/tandem

FROM debian:bookworm-slim AS cpu
COPY --from=build-cpu /out/tandem.deb /tmp/tandem.deb
RUN apt-get update \
 && apt-get install --yes --no-install-recommends /tmp/tandem.deb openssh-client \
 && rm -rf /var/lib/apt/lists/* /tmp/tandem.deb \
 && ln -s /usr/share/tandem/jobs/ssh-into-container.sh /usr/local/bin/ssh-into-container \
 && ln -s /usr/share/tandem/jobs/start-by-hand.sh /usr/local/bin/start-by-hand

FROM debian:bookworm-slim AS cuda
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libarchive13 libboost-program-options1.74.0 libgomp1 libhdf5-103-1 \
    libjpeg62-turbo libopenmpi3 libpng16-16 libssl3 openmpi-bin openssh-client zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && ln -s /opt/tandem/share/tandem/jobs/ssh-into-container.sh /usr/local/bin/ssh-into-container \
 && ln -s /opt/tandem/share/tandem/jobs/start-by-hand.sh /usr/local/bin/start-by-hand
# Programs and libraries find libtorch by this path.
COPY --from=build-cuda /opt/torch/lib /opt/torch/lib
COPY --from=build-cuda /opt/tandem /opt/tandem
ENV PATH=/opt/tandem/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility

# With its own default, because Buildah 1.28 does not see that of the ARG here, and then skips the stage.
FROM ${VARIANT:-cpu}
# Files in mounted folders belong to users by number.
ARG USER_ID=1000
RUN useradd --create-home --uid ${USER_ID} tandem && install -d -o tandem /scratch
# Open MPI copies between the ranks of a host by a system call that containers often forbid.
ENV OMPI_MCA_btl_vader_single_copy_mechanism=none
USER tandem
WORKDIR /scratch
CMD ["tandem", "--help"]
