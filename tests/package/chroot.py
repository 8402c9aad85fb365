"""A fresh Debian in a folder, and commands in it."""

import os
import pathlib
import subprocess

# Gone with the last process inside: a container's usual file systems, and no process of the outside.
IN_CHROOT = """mount -t proc proc "$0/proc"; mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts"
mount -t tmpfs -o size=1g,mode=1777 tmpfs "$0/dev/shm"; exec chroot "$0" "$@" """


class Chroot:
    def __init__(self, folder, suite):
        self.root = pathlib.Path(folder)
        # The mirrors of this machine.
        lists = [path for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
                 if os.path.exists(path) and os.path.getsize(path) > 0]
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--skip=cleanup", suite, self.root, *lists[:1]], check=True)

    def run(self, script, user="root", folder="/", environment={}):
        """Standard output and error of a bash script; it must succeed."""
        home = "/root" if user == "root" else f"/home/{user}"
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "bash", "-euc", IN_CHROOT, self.root,
                   "setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", "-i", f"--chdir={folder}",
                   "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", f"HOME={home}",
                   *(f"{name}={value}" for name, value in environment.items()), "bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f"exit code {done.returncode} of: {script}\n{done.stdout}"
        return done.stdout
