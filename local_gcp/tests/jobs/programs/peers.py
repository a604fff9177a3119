"""Stands for a distributed training: python peers.py STEPS. Standard library only.

Every replica of TF_CONFIG's cluster is connected with every other. The chief counts steps, one
each 0.05 s, and sends each to all; like TensorFlow's, a replica that loses a peer exits with 1.
The chief's steps are kept in the run's folder, so a restarted one goes on where it was; at the end
it sends "done", upon which the others exit.
"""

import json
import os
import pathlib
import socket
import sys
import threading
import time

config = json.loads(os.environ["TF_CONFIG"])
me = (config["task"]["type"], config["task"]["index"])
members = [
    ((kind, index), address)
    for kind, addresses in sorted(config["cluster"].items())
    for index, address in enumerate(addresses)
]
peers: dict[tuple[str, int], socket.socket] = {}
finished = threading.Event()


def connect():
    rank = [member for member, _ in members].index(me)
    host, port = members[rank][1].split(":")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    listener.listen()
    for member, address in members[:rank]:
        host, port = address.split(":")
        while True:
            try:
                peers[member] = socket.create_connection((host, int(port)))
                break
            except OSError:
                time.sleep(0.05)
        peers[member].sendall(json.dumps(me).encode() + b"\n")
    while len(peers) < len(members) - 1:
        connection, _ = listener.accept()
        peers[tuple(json.loads(connection.makefile().readline()))] = connection


def watch(member, connection):
    for line in connection.makefile():
        if line == "done\n":
            finished.set()
            os._exit(0)
    if not finished.wait(0.3):  # at the end the others leave too
        print(f"UnavailableError: {member} is gone", flush=True)
        os._exit(1)


connect()
for member, connection in peers.items():
    threading.Thread(target=watch, args=(member, connection), daemon=True).start()
if me[0] != "chief":
    threading.Event().wait()
checkpoint = pathlib.Path(os.environ["LOCAL_GCP_ATTEMPT"]).parent / "checkpoint"
step = int(checkpoint.read_text()) if checkpoint.exists() else 0
print(f"start at step {step}", flush=True)
while step < int(sys.argv[1]):
    time.sleep(0.05)
    step += 1
    checkpoint.write_text(str(step))
    print(f"step {step}", flush=True)
    for connection in peers.values():
        connection.sendall(b"step\n")
finished.set()
for connection in peers.values():
    connection.sendall(b"done\n")
print("done", flush=True)
