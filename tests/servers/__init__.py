"""Real servers for tests, on free loopback ports and in a temporary folder of their own. See README.md."""
from servers.running import Servers, ServersFailed, absent, names

__all__ = ["Servers", "ServersFailed", "absent", "names"]
