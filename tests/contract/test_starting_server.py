#!/usr/bin/env python3
"""A run whose ZooKeeper server, while it starts, leaves connections open and never answers them.

A program named `java` does that, then becomes the real server. Every wait is bounded.
TANIST_PROGRAM: the program.
"""

import os
import shutil
import sys
import unittest

from case import LONG, Cli

# The process that keeps the connections ends with its pipe, that is with the real server. The
# listening socket is closed before the server starts. Clients that come first connect to it.
SILENT_JAVA = """#!{python}
import os, re, select, socket, sys, time
port = re.search(r"^clientPort=(\\d+)$", open(sys.argv[-1]).read(), re.MULTILINE).group(1)
listener = socket.create_server(("127.0.0.1", int(port)))
kept, end = [], time.monotonic() + 3
while time.monotonic() < end:
    if select.select([listener], [], [], 0.1)[0]:
        kept.append(listener.accept()[0])
listener.close()
server_lives, of_server = os.pipe()
if os.fork() == 0:
    os.close(of_server)
    os.read(server_lives, 1)
    os._exit(0)
os.set_inheritable(of_server, True)
os.execv({java!r}, sys.argv)
"""


class StartingServer(Cli):
    def test_run_connects_to_a_server_that_serves(self):
        """The run starts although connections before the server serves are never answered."""
        (self.folder / "bin").mkdir()
        java = self.folder / "bin/java"
        java.write_text(SILENT_JAVA.format(python=sys.executable, java=shutil.which("java")))
        java.chmod(0o755)
        self.environment.update(JAVA_HOME="", PATH=f"{java.parent}:{os.environ['PATH']}")
        # Two thirds of this are more than the 60 s after which the agent gives up; a sixtieth, after which
        # the library connects again, is less than the 3 s above.
        self.start(*LONG, "--set", "zookeeper.session_timeout_ms=96000")
        self.wait_step()


if __name__ == "__main__":
    unittest.main(verbosity=2)
