# SPDX-License-Identifier: GPL-2.0
"""Call functions in many ways, between calls of begin_work() and end_work().

With an argument, Python's own profiler watches, and each entry and exit is printed as
"entry FILE:FUNCTION". Generators are left out, as are coroutines: the profiler does not see
each time that they are entered. Their names are printed with "generator" before.
"""
import collections
import contextlib
import dataclasses
import functools
import json
import re
import sys

seen = []
generators = set()


class Items:
    def __getitem__(self, index):
        return index

    def __len__(self):
        return 5

    def __iter__(self):
        return iter([1, 2])

    def __contains__(self, item):
        return item == 1

    def __add__(self, other):
        return other

    def __getattr__(self, name):
        return name

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 3

    def __call__(self, *arguments, **words):
        return arguments

    @property
    def size(self):
        return 3


class Meta(type):
    def __call__(cls, *arguments):
        return super().__call__(*arguments)


class Made(metaclass=Meta):
    def __init__(self):
        self.size = 1

    def __del__(self):
        self.size = 0


@dataclasses.dataclass
class Data:
    first: int
    second: int = 2


def generator():
    try:
        yield (yield 1)
    except KeyError:
        yield 5


def outer():
    yield from generator()


def recurse(depth):
    return 0 if depth == 0 else 1 + recurse(depth - 1)


def fails(depth):
    if depth == 0:
        raise KeyError(depth)
    try:
        fails(depth - 1)
    finally:
        recurse(1)


@contextlib.contextmanager
def manager():
    yield 1


def use_items(items):
    return [items[1], len(items), list(items), 1 in items, items + 1, items.name, items.size,
            items == 3, {items: 2}, items(1, word=2)]


def use_generators():
    one = generator()
    next(one)
    one.throw(KeyError)
    one.close()
    return list(outer())


def catch():
    try:
        with manager():
            fails(10)
    except KeyError:
        recurse(2)


def use_library():
    data = sorted([Data(i) for i in range(20)], key=lambda item: -item.first)
    functools.reduce(lambda a, b: a + b, range(50))
    json.loads(json.dumps({"a": [1, {"b": len(data)}]}, indent=2))
    re.sub("a(b+)", lambda match: match.group(1), "abb abbb")
    collections.namedtuple("Point", "x y")(1, 2)
    exec("def inner(): return 1\ninner()")


def work():
    for _ in range(100):
        use_items(Items())
        use_generators()
        Made()
    for _ in range(10):
        catch()
        use_library()
    return recurse(500)


def begin_work():
    pass


def end_work():
    pass


def profile(frame, event, _):
    code = frame.f_code
    if event not in ("call", "return"):
        return
    name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
    file = code.co_filename.split("/")
    short = "/".join(file[-2 if file[-1].startswith("__") else -1:])
    name = f"{short}:{name}".replace(" ", "_")
    if code.co_flags & 0x2a0:
        generators.add(name)
    else:
        seen.append(("entry " if event == "call" else "exit ") + name)


# What a second round does depends on no caches.
work()
if sys.argv[1:]:
    sys.setprofile(profile)
begin_work()
work()
end_work()
sys.setprofile(None)
for line in seen:
    print(line)
for line in generators:
    print("generator", line)
