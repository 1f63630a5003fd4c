"""How nginx is configured here, whatever it serves."""
from collections.abc import Sequence
from pathlib import Path

# One process: what is counted is then counted once, and nothing of it survives a kill.
CONFIGURATION = """\
{modules}daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log warn;
worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{
  access_log off;
  server_tokens off;
  client_max_body_size 0;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  default_type application/octet-stream;
  keepalive_requests 10000000;
  keepalive_timeout 300;
{servers}}}
"""


def command(folder: Path, servers: str, modules: Sequence[Path] = (), connections: int = 2048) -> list:
    """What starts an nginx in the foreground that writes into this folder alone. `servers` is what its http block has of its own."""
    loads = "".join(f"load_module {module};\n" for module in modules)
    text = CONFIGURATION.format(modules=loads, folder=folder, files=2 * connections, connections=connections, servers=servers)
    (folder / "nginx.conf").write_text(text)
    return ["nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"]
