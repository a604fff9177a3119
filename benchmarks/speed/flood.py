"""Requests a second of a server under many clients, each of which waits for its answer, and the
time that 99 of 100 of them wait at most.

`python -m benchmarks.speed.flood PORT < BODY` prints both as JSON. The clients are sockets of one
thread that sends the same bytes again, in a process of their own: an HTTP library's client would
take longer than the servers that it measures.
"""

import json
import selectors
import socket
import statistics
import subprocess
import sys
import time

CLIENTS, SECONDS = 32, 3


class _Client:
    def __init__(self, port, body):
        head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        self._request = f"{head}Content-Type: application/json\r\n\r\n".encode() + body
        self.socket = socket.create_connection(("127.0.0.1", port))
        self._received, self._wanted = b"", None

    def send(self):
        self._received, self._wanted = b"", None
        self.sent = time.perf_counter()
        self.socket.sendall(self._request)

    def answered(self):
        """Read what has come; return whether the answer is whole. Raises SystemExit for errors."""
        self._received += self.socket.recv(1 << 16)
        if self._wanted is None and b"\r\n\r\n" in self._received:
            head, _, _ = self._received.partition(b"\r\n\r\n")
            if b" 200 " not in head.partition(b"\r\n")[0]:
                raise SystemExit(f"answered {self._received[:300]!r}")
            length = head.lower().partition(b"content-length:")[2].split()[0]
            self._wanted = len(head) + 4 + int(length)
        return self._wanted is not None and len(self._received) >= self._wanted


def flood(port, body):
    """`rate`: requests a second. `p99`: milliseconds from sending to the whole answer."""
    clients = [_Client(port, body) for _ in range(CLIENTS)]
    with selectors.DefaultSelector() as ready:
        for client in clients:
            ready.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        waits, start = [], time.perf_counter()
        # A busy machine may answer nobody for seconds.
        while len(waits) < CLIENTS or time.perf_counter() - start < SECONDS:
            for key, _ in ready.select(1):
                if key.data.answered():
                    waits.append(time.perf_counter() - key.data.sent)
                    key.data.send()
        seconds = time.perf_counter() - start
    for client in clients:
        client.socket.close()
    p99 = statistics.quantiles(waits, n=100, method="inclusive")[-1]
    return {"rate": len(waits) / seconds, "p99": 1000 * p99}


def measured(port, body, figure):
    """One of the figures, with the clients in another process."""
    command = [sys.executable, "-m", "benchmarks.speed.flood", str(port)]
    done = subprocess.run(command, input=body, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)[figure]


if __name__ == "__main__":
    print(json.dumps(flood(int(sys.argv[1]), sys.stdin.buffer.read())))
