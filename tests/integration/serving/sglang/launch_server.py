"""Stands for `python3 -m sglang.launch_server` over several nodes: its options, and how it ends.

As in its source, 0.5.23: the first node serves the rendezvous at --dist-init-addr, and each has an
API, which on the others answers health checks alone, with 200. The others ignore SIGTERM and wait
for the first's word, also where that is gone. MASTER_ADDR wins over --dist-init-addr. Temporary
files stay.
"""

import argparse
import http.server
import os
import signal
import socket
import sys
import tempfile
import threading
import time


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--tp-size", "--tp", "--tensor-parallel-size", type=int, default=1)
    parser.add_argument("--nnodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--dist-init-addr")
    parser.add_argument("--nccl-port", type=int)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    return parser.parse_args()


class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def lead(given: argparse.Namespace, store: socket.socket) -> None:
    others = [store.accept()[0] for _ in range(given.nnodes - 1)]

    def end(*_: object) -> None:
        for other in others:
            other.sendall(b"e")
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    http.server.HTTPServer((given.host, given.port), Healthy).serve_forever()


def follow(given: argparse.Namespace, host: str, port: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    health = http.server.HTTPServer((given.host, given.port), Healthy)
    threading.Thread(target=health.serve_forever, daemon=True).start()
    while True:
        try:
            leader = socket.create_connection((host, port))
            break
        except OSError:
            time.sleep(0.1)
    if leader.recv(1):
        os._exit(0)
    time.sleep(600)


def main() -> None:
    given = options()
    leaked = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "NODE_ADDR"} & set(os.environ)
    if leaked or "SGLANG_HOST_IP" not in os.environ or given.tp_size % given.nnodes:
        sys.exit(f"stand-in: {given} leaked {leaked}")
    print("options", *sys.argv[1:], flush=True)
    tempfile.mkstemp()
    host, port = given.dist_init_addr.rsplit(":", 1)
    if given.node_rank == 0:
        lead(given, socket.create_server((host, int(port))))
    else:
        follow(given, host, int(port))


main()
