"""The program `tanist` as a subprocess: where it is, and what it prints."""

import json
import os
import shutil
import subprocess


class Error(Exception):
    """The program ended with an error. `code`: its exit code; the text is its message."""

    def __init__(self, code, message):
        super().__init__(message or f"tanist exited with code {code}")
        self.code = code


def find(program=None):
    """The path of the program: the argument, TANIST_PROGRAM of the environment, or the first one in PATH."""
    path = program or os.environ.get("TANIST_PROGRAM") or shutil.which("tanist")
    if path is None:
        raise FileNotFoundError("the program tanist is not in PATH: install it, or set TANIST_PROGRAM")
    if shutil.which(path) is None:
        name = "program" if program else "TANIST_PROGRAM"
        raise FileNotFoundError(f"{name} is {path}, which is not an executable file: give the path of the program tanist")
    return str(path)


def message_of(stderr):
    """The program's own error, without the lines of progress before it."""
    lines = [line for line in stderr.splitlines() if line.startswith("tanist: ")]
    return lines[-1][len("tanist: "):] if lines else stderr.strip()


def call(arguments, program=None):
    """Run a command to its end; returns its output."""
    done = subprocess.run([find(program), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(done.returncode, message_of(done.stderr))
    return done.stdout


def call_json(arguments, program=None):
    """The same of a command that prints JSON."""
    return json.loads(call([*arguments, "-o", "json"], program))
