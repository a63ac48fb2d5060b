"""SGLang's own reading of a node's options: prints what they come to, and answers as a server would.

sglang_options.py OPTION...
"""

import http.server
import os
import signal
import sys

from sglang.srt.server_args import PortArgs, prepare_server_args

arguments = prepare_server_args(sys.argv[1:])
ports = PortArgs.init_new(arguments)
tcp = [str(value) for value in vars(ports).values() if str(value).startswith("tcp://")]
print(
    f"node {arguments.node_rank} of {arguments.nnodes}: at {arguments.dist_init_addr}, "
    f"API {arguments.host}:{arguments.port}, NCCL {ports.nccl_port}, tp {arguments.tp_size};",
    *sorted(endpoint.removeprefix("tcp://") for endpoint in tcp),
    flush=True,
)


class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
http.server.HTTPServer((arguments.host, arguments.port), Healthy).serve_forever()
