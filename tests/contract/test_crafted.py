#!/usr/bin/env python3
"""A shard whose structure would crash LMDB, and a manifest with its digest, as an attacker or a broken program
leaves them: the ps that loads it and `tanist checkpoints` report damage and do not end by a signal.

A real run; every wait is bounded. TANIST_PROGRAM: the program. TANIST_ZNODE: a client that changes znodes.
"""

import ctypes
import json
import os
import signal
import struct
import sys
import unittest

from test_held import JOB, SHARD, Held, LONG

PAGE = 4096
DAMAGE = "is damaged: page 0: its page size is 0"


class Digest128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def digest_of(data):
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype = Digest128
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    value = function(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


class Crafted(Held):
    def craft(self, number, at, layout, value):
        """Change a field of both meta pages of a shard of ps:0, and adopt the file in both copies of the manifest."""
        folder = self.folder / f"run/checkpoints/{number:010d}"
        data = bytearray((folder / SHARD / "data.mdb").read_bytes())
        manifest = (folder / "manifest.json").read_text()
        before = digest_of(bytes(data))
        self.assertIn(before, manifest)
        for meta in (0, PAGE):
            struct.pack_into(layout, data, meta + at, value)
        (folder / SHARD / "data.mdb").write_bytes(data)
        members = manifest[:manifest.index(',"check":')].replace(before, digest_of(bytes(data))) + "}"
        manifest = f'{members[:-1]},"check":"{digest_of(members.encode())}"}}'
        (folder / "manifest.json").write_text(manifest)
        result = self.znode("set", f"/tanist/quick/checkpoints/{number:010d}", manifest)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_crafted_shard(self):
        """The ps reports the damage and loads an earlier checkpoint, in the same process."""
        self.start(*LONG, *JOB, "--set", "zookeeper.session_timeout_ms=20000")
        self.wait_commits(2)
        for _ in range(5):
            newest, found = self.restart_crafted()
            if found:
                return self.check_verified(newest)
        return self.fail("five times a newer checkpoint was committed while ps:0 was stopped")

    def freeze_after_copy(self):
        """ps:0 is stopped. Returns its pid and the newest checkpoint, with the copy of the manifest, which is written
        after the commit."""
        pid = self.wait_pid("ps:0")

        def freeze():
            os.kill(pid, signal.SIGSTOP)
            newest = max(self.committed())
            if (self.folder / f"run/checkpoints/{newest:010d}/manifest.json").exists():
                return newest
            return os.kill(pid, signal.SIGCONT)
        return pid, self.wait_for("the copy of the newest manifest", freeze)

    def restart_crafted(self):
        """The newest checkpoint is crafted while ps:0 is stopped; ps:0 is then killed, so that it loads it. Returns
        its id, and whether it was loaded: a save that ps:0 had reported before may be committed meanwhile."""
        first, newest = self.freeze_after_copy()
        self.craft(newest, 40, "<I", 0)  # The size of a page: LMDB divides by it.
        os.kill(first, signal.SIGKILL)
        second = self.wait_pid("ps:0", but=first)
        self.wait_commits(1, after=newest + 1)
        self.assertEqual(self.wait_pid("ps:0"), second)
        log = "".join(path.read_text() for path in self.folder.glob("run/logs/ps-0*"))
        return newest, DAMAGE in log

    def check_verified(self, newest):
        """The checkpoint is kept, and shown as damaged."""
        verified = self.tanist("checkpoints", "verify", *self.target, "-o", "json")
        self.assertEqual(verified.returncode, 6, verified.stderr)
        found = next(entry for entry in json.loads(verified.stdout)["checkpoints"] if entry["id"] == newest)
        self.assertIs(found["intact"], False)
        self.assertEqual([shard["verdict"] for shard in found["verdicts"]], ["damaged", "ok"])
        self.assertIn(DAMAGE, found["verdicts"][0]["reason"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
