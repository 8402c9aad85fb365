"""Two hosts on one machine, each with its own name: n1 with ranks 0 and 1, n2 with rank 2."""

import pathlib

from tandem import MPIRUN

FAKE_HOST = pathlib.Path(__file__).with_name("fake_host.sh")
# Only the loopback interface: these hosts have one, also on a machine without a network.
TWO_HOSTS = [*MPIRUN, "--host", "n1:2,n2:1", "-n", "3", "--mca", "plm_rsh_agent", FAKE_HOST,
             "--mca", "oob_tcp_if_include", "lo", "--mca", "btl_tcp_if_include", "lo"]
# Every rank starts in the folder that is named after its host.
IN_OWN_FOLDER = ["bash", "-c", 'cd "$(hostname)" && exec "$@"', "bash"]
