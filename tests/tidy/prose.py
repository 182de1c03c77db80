"""Finds the English in a tree: comments, messages and documents, with the line of each character."""

import ast
import io
import re
import tokenize
from pathlib import Path

C_SUFFIXES = (".c", ".h", ".inc", ".cu", ".cuh", ".pml")
HASH_SUFFIXES = (".sh", ".cmake", ".txt", ".cfg", ".service", ".supp")
HASH_NAMES = ("test.sh", "run", "CMakeLists.txt", ".clang-tidy", ".clang-format")
IGNORED = re.compile(r"(build|runs|\.)")  # Top-level folders that git does not track, and .git.
KEPT = (".ci", ".clang-tidy", ".clang-format")

C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
BETWEEN_LITERALS = re.compile(r"[\s\\]*(?:(?:PRI|SCN|JSON_)\w+[\s\\]*)*")
CODE_SPAN = re.compile(r"``[^`]*``|`[^`\n]*`")
KEY = re.compile(r'\\?"[\w.-]*\\?"')  # One quoted word: a key or a value of JSON, not prose.


class Chunk:
    """One comment, one message (adjacent literals are one), or one paragraph."""

    def __init__(self, kind):
        self.kind = kind  # "comment", "message" or "document"
        self.text = ""
        self.marks = []  # (offset in text, line number)

    def add(self, number, text):
        if self.text and not self.text.endswith(" "):
            self.text += " "
        self.marks.append((len(self.text), number))
        self.text += text

    def line(self, offset):
        return [number for start, number in self.marks if start <= offset][-1]

    def finish(self):
        """Blanks `code` and single quoted keys; the offsets stay."""
        for pattern in (CODE_SPAN, KEY):
            self.text = pattern.sub(lambda match: "_" * len(match.group(0)), self.text)
        return self


def comment_lines(text):
    """The text of a C comment, line by line, without its stars."""
    text = re.sub(r"^/[/*]+|\*/$", "", text)
    return [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in text.split("\n")]


def c_chunks(text):
    message, end = None, 0
    for match in C_TOKEN.finditer(text):
        token, number = match.group(0), text.count("\n", 0, match.start()) + 1
        if token[0] == "'":
            continue
        if token[0] == '"':
            if message is None or not BETWEEN_LITERALS.fullmatch(text, end, match.start()):
                if message is not None:
                    yield message
                message = Chunk("message")
                message.add(number, token[1:-1])
            else:
                message.marks.append((len(message.text), number))
                message.text += token[1:-1]
            end = match.end()
            continue
        chunk = Chunk("comment")
        for offset, line in enumerate(comment_lines(token)):
            chunk.add(number + offset, line)
        yield chunk
    if message is not None:
        yield message


def python_chunks(text):
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            docstrings.add(node.body[0].lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        body = token.string
        if token.type == tokenize.STRING:
            body = re.sub(r"^\w*('''|\"\"\"|'|\")|('''|\"\"\"|'|\")$", "", body)
        is_comment = token.type == tokenize.COMMENT or token.start[0] in docstrings
        chunk = Chunk("comment" if is_comment else "message")
        for offset, line in enumerate(body.split("\n")):
            chunk.add(token.start[0] + offset, line.strip(" #"))
        yield chunk


def hash_chunks(text):
    """Shell, CMake and lists: each line, code included; comments on adjacent lines are one chunk."""
    chunk = Chunk("document")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith("#"):
            yield chunk
            chunk = Chunk("document")
        chunk.add(number, line.strip(" #"))
    yield chunk


def document_chunks(text):
    """Markdown: paragraphs; rows of tables and lines of examples one by one. JSON is data."""
    chunk, fence = Chunk("document"), None
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*```(\w*)", line)
        if mark:
            fence = None if fence is not None else mark.group(1)
        elif fence != "json":
            if fence is not None or not line.strip() or re.match(r"\s*([|#>*-]|\d+\.)", line):
                yield chunk
                chunk = Chunk("document")
            chunk.add(number, line.strip())
    yield chunk


def json_chunks(text):
    for number, line in enumerate(text.split("\n"), 1):
        for match in re.finditer(r'"((?:\\.|[^"\\])*)"', line):
            chunk = Chunk("message")
            chunk.add(number, match.group(1))
            yield chunk


def reader(path):
    if path.suffix in C_SUFFIXES:
        return c_chunks
    if path.suffix == ".py":
        return python_chunks
    if path.suffix == ".md":
        return document_chunks
    if path.suffix == ".json":
        return json_chunks
    if path.suffix in HASH_SUFFIXES or path.name in HASH_NAMES:
        return hash_chunks
    return None


def files(root):
    """(path relative to the root, absolute path) of each file of the tree that holds English."""
    for top in sorted(Path(root).iterdir()):
        if IGNORED.match(top.name) and top.name not in KEPT:
            continue
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and reader(path) is not None:
                yield path.relative_to(root).as_posix(), path


def chunks(path):
    """The English of one file. A message is a string with a blank in it: the others are names."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for chunk in reader(path)(text):
        if chunk.kind != "message" or " " in chunk.text:
            yield chunk.finish()


def names(path):
    """(line, identifier) of the identifiers in the code of a C or Python file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in C_SUFFIXES:
        code = C_TOKEN.sub(lambda match: "\n" * match.group(0).count("\n") or " ", text)
        for number, line in enumerate(code.split("\n"), 1):
            for name in re.findall(r"[A-Za-z_]\w+", line):
                yield number, name
    elif path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                yield token.start[0], token.string
