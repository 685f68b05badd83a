#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Let gdb read all memory of the kernel in an image that kdump has saved.

/proc/vmcore, and what makedumpfile -E makes of it, tell gdb only where the kernel's text and
the physical memory are mapped.  Modules, and what vmalloc() has given out, are mapped by page
tables, which gdb does not read: this follows those in the image, and appends to it what they map,
with program headers.  For x86_64 and arm64.

Usage: map-vmcore.py VMCORE
"""

import re
import struct
import sys

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
PT_LOAD, PT_NOTE = 1, 4
EM_X86_64, EM_AARCH64 = 62, 183
READ = 4
# The number of program headers has 16 bits, and the highest means that it does not suffice.
MOST = 0xfffe
# Of what is appended: this is no memory in which tables are looked for, if the script runs again.
NO_PHYSICAL = (1 << 64) - 1


class Image:
    """An ELF core file: physical memory, and the notes that describe it."""

    def __init__(self, file):
        self.file = file
        file.seek(0)
        self.header = list(HEADER.unpack(file.read(HEADER.size)))
        if self.header[0][:5] != b"\x7fELF\x02":
            sys.exit("this is no ELF file of 64 bits: makedumpfile -E makes one.")
        file.seek(self.header[5])
        self.programs = [list(PROGRAM_HEADER.unpack(file.read(PROGRAM_HEADER.size)))
                         for _ in range(self.header[10])]
        self.loads = [p for p in self.programs if p[0] == PT_LOAD]
        notes = b"".join(self.at(p[2], p[5]) for p in self.programs if p[0] == PT_NOTE)
        self.info = dict(re.findall(r"^([A-Z0-9_]+(?:\(\w+\))?)=(.*)$",
                                    notes.decode("latin1"), re.M))
        self.page = int(self.number("PAGESIZE", 10))

    def number(self, name, base=0):
        if name not in self.info:
            sys.exit("the image does not say {}: it is none of kdump.".format(name))
        return int(self.info[name], base)

    def at(self, offset, size):
        self.file.seek(offset)
        return self.file.read(size)

    def physical(self, address, size):
        """The bytes there, or None if the image does not have them."""
        for _, _, offset, _, start, in_file, _, _ in self.loads:
            if start <= address and address + size <= start + in_file:
                return self.at(offset + address - start, size)
        return None

    def is_mapped(self, address):
        return any(p[3] <= address < p[3] + p[6] for p in self.loads)

    def append(self, ranges):
        """Write the bytes of (address, bytes) after the image, and new program headers."""
        end = self.file.seek(0, 2)
        for address, data in ranges:
            self.programs.append([PT_LOAD, READ, end, address, NO_PHYSICAL,
                                  len(data), len(data), 0])
            # Where the tables are read is elsewhere.
            self.file.seek(end)
            end += self.file.write(data)
        if len(self.programs) > MOST:
            sys.exit("the image has more than {} ranges of memory.".format(MOST))
        self.file.seek(end)
        for program in self.programs:
            self.file.write(PROGRAM_HEADER.pack(*program))
        self.header[5], self.header[10] = end, len(self.programs)
        self.file.seek(0)
        self.file.write(HEADER.pack(*self.header))


class Tables:
    """The kernel's page tables in an image."""

    def __init__(self, image):
        self.image = image
        self.shift = image.page.bit_length() - 1
        self.seen = set()
        top = image.number("SYMBOL(swapper_pg_dir)", 16)
        machine = image.header[2]
        if machine == EM_X86_64:
            five = int(image.info.get("NUMBER(pgtable_l5_enabled)", "0"))
            self.address_bits = 57 if five else 48
            self.top = top - 0xffffffff80000000 + image.number("NUMBER(phys_base)")
            # The lower half is a program's.
            self.first = 256
            self.is_leaf = lambda entry: entry & 0x80
        elif machine == EM_AARCH64:
            self.address_bits = image.number("NUMBER(VA_BITS)")
            self.top = top - image.number("NUMBER(kimage_voffset)")
            self.first = 0
            self.is_leaf = lambda entry: not entry & 2
        else:
            sys.exit("page tables of machine {} are not known here.".format(machine))
        bits = self.shift - 3
        self.levels = -(-(self.address_bits - self.shift) // bits)
        # Of the address that each level translates, from the lowest on
        self.bits = [min(bits, self.address_bits - self.shift - bits * level)
                     for level in range(self.levels)]

    def walk(self, table, level, address):
        """What a table maps, as (address, physical address, size), by address."""
        # The shadow of KASAN maps tables again and again.
        if table in self.seen:
            return
        self.seen.add(table)
        size = 1 << self.shift + sum(self.bits[:level])
        data = self.image.physical(table, 8 << self.bits[level]) or b""
        for index, (entry,) in enumerate(struct.iter_unpack("<Q", data)):
            if not entry & 1 or level == self.levels - 1 and index < self.first:
                continue
            here = address + index * size
            to = entry & (1 << 48) - self.image.page
            if level == 0 or self.is_leaf(entry):
                yield here, to & -size, size
            else:
                yield from self.walk(to, level - 1, here)

    def ranges(self):
        """The address and the bytes of what only the tables map, in pieces without a gap."""
        start = end = 0
        pieces = []
        for here, to, size in self.walk(self.top, self.levels - 1,
                                        (1 << 64) - (1 << self.address_bits)):
            data = None
            if not self.image.is_mapped(here):
                data = self.image.physical(to, size)
            if pieces and (not data or here != end):
                yield start, b"".join(pieces)
                pieces = []
            if data:
                start = start if pieces else here
                pieces.append(data)
                end = here + size
        if pieces:
            yield start, b"".join(pieces)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    try:
        with open(sys.argv[1], "r+b") as file:
            image = Image(file)
            image.append(Tables(image).ranges())
    except OSError as error:
        sys.exit("{}: {}.".format(sys.argv[1], error.strerror))
    except struct.error:
        sys.exit("{} ends early: save it again.".format(sys.argv[1]))


if __name__ == "__main__":
    main()
