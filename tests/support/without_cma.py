#!/usr/bin/env python3
"""without_cma.py COMMAND…: runs the command where the memory of other processes may not be read, as in a container without
permission for it: a seccomp filter answers process_vm_readv and process_vm_writev with EPERM."""

import ctypes
import errno
import os
import platform
import struct
import sys

CALLS = {"x86_64": (310, 311), "aarch64": (270, 271)}[platform.machine()]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def instruction(code, value, if_equal=0, if_not=0):
    return struct.pack("=HBBI", code, if_equal, if_not, value)


def main():
    code = b"".join([instruction(LOAD_NUMBER, 0), instruction(JUMP_IF_EQUAL, CALLS[0], if_equal=2),
                     instruction(JUMP_IF_EQUAL, CALLS[1], if_equal=1), instruction(RETURN, ALLOW), instruction(RETURN, FAIL)])
    program = Program(len(code) // 8, code)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    zero = ctypes.c_ulong(0)
    if prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) != 0 or \
       prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(program), zero, zero) != 0:
        sys.exit(f"without_cma.py: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
