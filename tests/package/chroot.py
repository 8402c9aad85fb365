"""A fresh Debian in a folder, and commands in it."""

import pathlib
import re
import subprocess

# Gone with the last process inside: a container's usual file systems, and no process of the outside.
IN_CHROOT = """mount -t proc proc "$0/proc"; mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts"
mount -t tmpfs -o size=1g,mode=1777 tmpfs "$0/dev/shm"; while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done
shift; exec chroot "$0" "$@" """


def mirrors(suite):
    """mmdebstrap's last argument: the mirrors of this machine, of the same or of another release."""
    for path in map(pathlib.Path, ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")):
        if path.exists() and (text := path.read_text()).strip():
            if re.search(rf"(?m)(^Suites:|^deb ).*\b{suite}\b", text):
                return [path]
            found = re.search(r"(?m)^(?:URIs:|deb(?: \[.*\])?) *(\S+)", text)
            return [f"deb {found[1]} {suite} main"]
    return []


class Chroot:
    def __init__(self, folder, suite, packages=()):
        self.root = pathlib.Path(folder)
        self.mounts = []  # (folder outside, folder below root)
        include = [f"--include={','.join(packages)}"] if packages else []
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--skip=cleanup", *include, suite, self.root, *mirrors(suite)],
                       check=True)

    def run(self, script, user="root", folder="/", environment={}):
        """Standard output and error of a bash script; it must succeed."""
        home = "/root" if user == "root" else f"/home/{user}"
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "bash", "-euc", IN_CHROOT, self.root,
                   *(path for pair in self.mounts for path in pair), "--",
                   "setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", "-i", f"--chdir={folder}",
                   "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", f"HOME={home}",
                   *(f"{name}={value}" for name, value in environment.items()), "bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f"exit code {done.returncode} of: {script}\n{done.stdout}"
        return done.stdout
