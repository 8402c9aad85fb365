"""Denies AMX to this process and those that it starts, to see what programs do on processors without it: deny_amx.py COMMAND…

Since Linux 5.16 a process must ask for the tiles before it uses them. A filter of system calls refuses that request (seccomp(2)),
so tandem, oneDNN and MKL compute without. The processor and its flags stay as they are."""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2  # linux/prctl.h, linux/seccomp.h
AUDIT_ARCH_X86_64, SYS_ARCH_PRCTL, ARCH_REQ_XCOMP_PERM = 0xC000003E, 158, 0x1023
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h: of 32 bits, with a constant
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data


def deny_amx():
    """Cannot be undone. Raises OSError where the kernel takes no filter, and SystemExit on other architectures."""
    if platform.machine() != "x86_64":
        raise SystemExit(f"AMX cannot be denied: {platform.machine()} has none")
    tests = ((ARCHITECTURE, AUDIT_ARCH_X86_64), (NUMBER, SYS_ARCH_PRCTL), (FIRST_ARGUMENT, ARCH_REQ_XCOMP_PERM))
    filters = []
    for at, (offset, value) in enumerate(tests):
        to_allow = 2 * (len(tests) - at - 1) + 1
        filters += [(LOAD, 0, 0, offset), (JUMP_IF_EQUAL, 0, to_allow, value)]
    filters += [(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in filters))
    program = struct.pack("@HP", len(filters), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)):
        arguments = [word if isinstance(word, bytes) else ctypes.c_ulong(word) for word in words]
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    deny_amx()
    os.execvp(sys.argv[1], sys.argv[1:])
