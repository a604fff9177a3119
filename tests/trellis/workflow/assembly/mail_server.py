"""A mail server on the loopback interface that keeps what it is sent."""

import contextlib
import socketserver
import threading
from email import message_from_bytes, policy


class _Session(socketserver.StreamRequestHandler):
    def handle(self):
        self._say(220, "ready")
        while line := self.rfile.readline():
            command = line.split()[0].upper()
            if command == b"DATA":
                self._say(354, "go on")
                lines = []
                while (line := self.rfile.readline()).rstrip() != b".":
                    lines.append(line)
                parsed = message_from_bytes(b"".join(lines), policy=policy.default)
                self.server.mails.append(parsed)
            self._say(221 if command == b"QUIT" else 250, "ok")
            if command == b"QUIT":
                return

    def _say(self, code, text):
        self.wfile.write(f"{code} {text}\r\n".encode())


@contextlib.contextmanager
def mail_server():
    """Yields its port and the list of mails, email.message.EmailMessage."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Session) as server:
        server.mails = []
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1], server.mails
        server.shutdown()
        thread.join()
