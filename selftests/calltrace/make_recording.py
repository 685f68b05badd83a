#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: make_recording.py DIRECTORY [-i LINE]... EVENT...
#
# Make a recording by hand. An event is the name of a function and + for its entry, - for its
# exit; "/" begins the stream of the next thread. Event N has the time N * 100. A name may be
# followed by @ and the function's address in hexadecimal. LINE is one more of the file "info".
import argparse
import os
import struct

BLOCK = 0x10000
STUBS = 16      # bytes of the stubs of a function

parser = argparse.ArgumentParser()
parser.add_argument("directory")
parser.add_argument("-i", action="append", default=[])
parser.add_argument("-o", default="object 0 - program")
parser.add_argument("events", nargs="+")
arguments = parser.parse_args()

functions, streams = {}, [b""]
for number, event in enumerate(arguments.events):
    if event == "/":
        streams.append(b"")
        continue
    name, _, entry = event[:-1].partition("@")
    index = functions.setdefault(name, (len(functions), entry))[0]
    address = BLOCK + index * STUBS + (STUBS // 2 if event[-1] == "-" else 0)
    streams[-1] += struct.pack("<QQ", address, (number + 1) * 100)

os.makedirs(arguments.directory, exist_ok=True)
with open(arguments.directory + "/info", "w") as info:
    print("# calltrace recording 1", "format software", "profile target", "streams thread",
          *arguments.i, sep="\n", file=info)
with open(arguments.directory + "/map", "w") as text:
    print("# calltrace map 1", arguments.o, f"block {BLOCK:#x} {len(functions) * STUBS:#x} 0",
          sep="\n", file=text)
    for name, (index, entry) in functions.items():
        entry = int(entry, 16) if entry else 0x1000 + index * 64
        for kind, offset in ("entry", 0), ("exit", STUBS // 2):
            print(f"stub {BLOCK + index * STUBS + offset:#x} 8 {kind} 0 {name} {entry:#x}",
                  file=text)
for number, stream in enumerate(streams):
    with open(f"{arguments.directory}/{number}.trace", "wb") as trace:
        trace.write(stream)
