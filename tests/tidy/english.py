"""Rejects stilted English: the wordings of english.txt, in comments, messages, documents and names."""

import re
from collections import Counter
from pathlib import Path

import prose

HERE = Path(__file__).resolve().parent
LIST = HERE / "english.txt"
EXCEPTIONS = HERE / "english_exceptions.txt"


def wordings():
    """{section: [(pattern, what to write instead)]}"""
    sections, rows = {}, None
    for line in LIST.read_text().splitlines():
        if line.startswith("["):
            rows = sections.setdefault(line.strip("[]"), [])
        elif line.strip() and not line.startswith("#"):
            pattern, instead = re.split(r"\s{2,}", line, maxsplit=1)
            rows.append((re.compile(pattern, re.IGNORECASE), instead))
    return sections


def exceptions(root):
    """{(path, wording): line}: "path | wording | reason"; * is every wording."""
    found = {}
    path = Path(root) / "tests/tidy" / EXCEPTIONS.name
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
        if line.strip() and not line.startswith("#"):
            name, wording, _ = (part.strip() for part in line.split("|", 2))
            found[name, wording.lower()] = number
    return found


def in_file(name, path, sections):
    """(line, wording, what to write instead) of each finding in one file."""
    for chunk in prose.chunks(path):
        for pattern, instead in sections["text"]:
            for match in pattern.finditer(chunk.text):
                yield chunk.line(match.start()), match.group(0), instead
        if chunk.kind == "comment":
            for pattern, instead in sections["opening"]:
                match = pattern.match(chunk.text.lstrip())
                if match:
                    yield chunk.line(0), match.group(0), instead
    yield from in_names(name, path, sections["names"])


def in_names(name, path, patterns):
    """Each part of the file's own name and of its identifiers, where it is first used."""
    first = {part: 1 for part in re.split(r"[/._-]", name)}
    for line, word in prose.names(path):
        for part in word.split("_"):
            first.setdefault(part, line)
    for part, line in first.items():
        for pattern, instead in patterns:
            if pattern.fullmatch(part):
                yield line, f"{part} in a name", instead


def findings(root):
    """(path, line, wording, what to write instead); exceptions are left out, unused ones are findings."""
    sections, allowed, used = wordings(), exceptions(root), set()
    for name, path in prose.files(root):
        if Path(name).name == EXCEPTIONS.name:
            continue
        for line, wording, instead in sorted(set(in_file(name, path, sections))):
            key = next((key for key in ((name, wording.lower()), (name, "*")) if key in allowed), None)
            if key is None:
                yield name, line, wording, instead
            else:
                used.add(key)
    for key in sorted(allowed.keys() - used):
        yield f"tests/tidy/{EXCEPTIONS.name}", allowed[key], " | ".join(key), "remove: it is not needed"


def check(args):
    for name, line, wording, instead in findings(args.root):
        yield name, line, f'"{wording}"; write: {instead}'


def folder_of(name):
    """Two levels: "chaos/judge", "tests/unit", "docs"; a file at the top is in "."."""
    return "/".join(name.split("/")[:-1][:2]) or "."


def count(args):
    """Prints the number of findings by folder and by wording. Returns their sum."""
    folders, kinds = Counter(), Counter()
    for name, _, wording, instead in findings(args.root):
        folders[folder_of(name)] += 1
        kinds[re.sub(r"(?<= no) \w$", " ...", wording.lower())] += 1
    for title, counter in (("folder", folders), ("wording", kinds)):
        print(f"by {title}:")
        for key, number in counter.most_common():
            print(f"{number:6} {key}")
    return sum(folders.values())
