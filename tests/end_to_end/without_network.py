"""Runs a command that reaches nothing but this machine, and tells how often it tried to.

    unshare --net python3 tests/end_to_end/without_network.py make demo

`unshare --net` (as root; else `unshare --map-root-user --net`) starts this program in a network
namespace of its own: there is a loopback interface, and no route to anywhere. Whatever sends to
another address gets "Network is unreachable", and the kernel counts it, for each process, protocol
and library alike. The last line is that count as JSON, {"unreachable": N}; the exit code is the
command's.
"""

import json
import socket
import subprocess
import sys
from pathlib import Path


def main(command: list[str]) -> int:
    probe()
    before = unreachable()
    if not before:
        raise SystemExit("This kernel does not count what it cannot route.")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    code = subprocess.run(command).returncode
    print(json.dumps({"unreachable": unreachable() - before}))
    return code


def probe() -> None:
    """Try to reach an address that is nobody's (RFC 5737); exit if there is a way to it."""
    with socket.socket() as client:
        client.settimeout(1)
        try:
            client.connect(("192.0.2.1", 9))
        except OSError as error:
            if error.strerror == "Network is unreachable":
                return
    raise SystemExit("There is a route out of here. Start this program with `unshare --net`.")


def unreachable() -> int:
    """Packets and connections of this namespace that had no route: /proc/net/snmp and snmp6."""
    lines = Path("/proc/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Ip:"))
    count = int(dict(zip(names, values, strict=True))["OutNoRoutes"])
    six = Path("/proc/net/snmp6")
    fields = dict(line.split() for line in six.read_text().splitlines()) if six.exists() else {}
    return count + int(fields.get("Ip6OutNoRoutes", 0))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
