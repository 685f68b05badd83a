#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run the sessions of a document and compare their output with what the document shows.

Usage: sessions.py DOCUMENT DIR

The sessions are the literal blocks with lines that begin with "$ ". All of them run in one
shell, in the order of the document, in the new directory DIR. A block after the comment
"not run by the test" is left out. "cat FILE" makes the file if it does not exist: the document
shows its contents. A line "..." stands for any lines. Numbers that differ between runs and
compilers are not compared.
"""
import pathlib
import re
import shlex
import subprocess
import sys

VARIES = (
    (r"\b([Pp]rocess|thread) +\d+", r"\1 N"),
    (r"\b(0x|func_|0{8})[0-9a-f]+", r"\1N"),
    (r"(?<=^fhook-rewrite: )\d+", "N"),
    (r"\d+ stubs\.", "N stubs."),
    (r"^ *\d{10,}(?= \|)", "N"),
    (r"\b\d+ ns\b", "N ns"),
)


def sessions(text):
    """Yield each command, with the lines of its output."""
    command, output, indent, left_out = None, [], 0, False
    for line in text.splitlines() + ["end"]:
        blank = not line.strip()
        begin = re.match(r"( +)\$ (.*)", line)
        if command is not None and command.endswith("\\"):
            command = command[:-1] + line.strip()
            continue
        ends = not blank and len(line) - len(line.lstrip()) < indent
        if command is not None and (begin or ends):
            while output and not output[-1]:
                output.pop()
            yield command, output
            command, output = None, []
        if ends:
            indent, left_out = 0, False
        if line.strip().startswith(".. not run by the test"):
            left_out = True
        elif begin and left_out:
            indent = len(begin[1])
        elif begin:
            command, indent = begin[2], len(begin[1])
        elif command is not None:
            output.append(line[indent:].rstrip())


def masked(line):
    for pattern, to in VARIES:
        line = re.sub(pattern, to, line)
    return line


def matches(wanted, lines):
    """Does the output have these lines, where "..." stands for any?"""
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(masked(line)) + "\n"
                      for line in wanted)
    return re.fullmatch(pattern, "".join(masked(line) + "\n" for line in lines))


def script(commands, directory):
    """The shell commands that run all sessions; the status of each is the next one's $?."""
    for i, (command, output) in enumerate(commands):
        file = re.fullmatch(r"cat ([\w.]+)", command)
        if file:
            (directory / f"{i}.file").write_text("\n".join(output) + "\n")
            yield f"[ -e {file[1]} ] || cp {shlex.quote(str(directory))}/{i}.file {file[1]}"
        yield "{ " + command + f"\n}} > {shlex.quote(str(directory))}/{i}.out 2>&1 < /dev/null"


def main():
    document, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    commands = list(sessions(document.read_text()))
    if not commands:
        sys.exit(f"{document} has no sessions")
    (directory / "work").mkdir(parents=True)
    subprocess.run(["sh", "-c", "\n".join(script(commands, directory))], cwd=directory / "work",
                   check=False)
    failed = 0
    for i, (command, wanted) in enumerate(commands):
        lines = (directory / f"{i}.out").read_text().splitlines()
        print(f"$ {command}")
        if not matches(wanted, [line.rstrip() for line in lines]):
            failed += 1
            print("shown:", *wanted, "printed:", *lines, sep="\n")
    sys.exit(failed > 0)


main()
