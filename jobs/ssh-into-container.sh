#!/bin/bash
# ssh-into-container.sh HOST COMMAND…: runs COMMAND on HOST inside the container named ranks (or $TANDEM_CONTAINER), which
# runs there already. mpirun in a container calls this in place of ssh:
#
#   docker exec ranks mpirun --host n1,n2 --mca plm_rsh_agent ssh-into-container tandem info
#
# The container needs an ssh client, and a key that lets it in to the hosts without a question, as $TANDEM_SSH_USER or, where
# that is not set, under the name that the user has in the container.
set -euo pipefail
if [ $# -lt 2 ] || [[ $1 == -* ]]; then
  echo "usage: ssh-into-container.sh HOST COMMAND…; a HOST does not begin with '-'" >&2
  exit 2
fi
host=$1
shift

# quoted WORD: as any POSIX shell reads it, whichever one the user logs in to.
quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# As with ssh, the words are joined and read by a shell, here by one inside the container.
exec ssh -o BatchMode=yes ${TANDEM_SSH_USER:+-l "$TANDEM_SSH_USER"} "$host" \
  docker exec "$(quoted "${TANDEM_CONTAINER:-ranks}")" bash -c "$(quoted "$*")"
