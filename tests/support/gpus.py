"""GPUs in name only: a driver library that lists them (fake_cuda_driver.c), and the program as it is built for CUDA."""

import os
import pathlib

FAKE_DRIVER = pathlib.Path(os.environ["TANDEM_TEST_CUDA_DRIVER"])
# The program of this build, which believes that it was built for CUDA 13.0; FAKE_CUDA_BUILD=0: for none.
PROGRAM_FOR_GPUS = os.environ["TANDEM_TEST_PROGRAM_FOR_GPUS"]

os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # of whoever runs the tests


def bus_id(place):
    return f"0000:{place + 1}B:00.0"


def device(index, place):
    """As the program shows the GPU at this place where it has this number."""
    return f"cuda:{index} NVIDIA H100 {bus_id(place)}"


def gpus(count, **more):
    """The environment in which a rank sees so many GPUs; more: FAKE_CUDA_VERSION and other variables."""
    listed = ";".join(f"{bus_id(place)} NVIDIA H100" for place in range(count))
    return {"LD_LIBRARY_PATH": str(FAKE_DRIVER.parent), "FAKE_CUDA_GPUS": listed, **more}
