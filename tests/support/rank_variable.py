"""How shells and /proc show the rank of a process under any launcher: the variables of src/comm/launchers."""

import re

VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
# The beginning of a script of bash: sets `rank`, 0 without a launcher.
FIND_RANK = "rank=" + "".join("${" + name + ":-" for name in VARIABLES) + "0" + "}" * len(VARIABLES) + "; "


def rank_in(environment):
    """The rank of a process with this /proc/PID/environ; None without a launcher."""
    for name in VARIABLES:
        found = re.search(rb"(?:^|\0)" + name.encode() + rb"=(\d+)", environment)
        if found:
            return int(found[1])
    return None
