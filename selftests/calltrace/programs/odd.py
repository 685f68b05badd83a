# SPDX-License-Identifier: GPL-2.0
"""Run one function in the way that the argument names."""
import ctypes
import os
import subprocess
import sys
import threading


def chosen(depth=1):
    return depth and chosen(depth - 1)


def fails(depth):
    if depth == 0:
        raise ValueError(depth)
    fails(depth - 1)


def generator():
    try:
        yield chosen(0)
    except KeyError:
        yield chosen(0)


def do_throw():
    items = generator()
    next(items)
    items.throw(KeyError)
    items.close()
    try:
        fails(2)
    except ValueError:
        chosen(0)


def do_threads():
    for depth in range(3):
        thread = threading.Thread(target=chosen, args=(depth,))
        thread.start()
        thread.join()


def do_fork():
    child = os.fork()
    if not child:
        chosen(0)
        os._exit(3)
    print(os.waitpid(child, 0)[1] >> 8)
    chosen(1)


def do_execute():
    subprocess.run([sys.executable, "-c", "def other(): pass\nother()"], check=True)
    subprocess.run(["sh", "-c", "true"], check=True)


def do_prepared():
    subprocess.run([sys.executable, "-c", "def other(): pass\nother()"], check=True,
                   preexec_fn=chosen, env=dict(os.environ))


def do_descriptors():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1024))
    descriptors = []
    try:
        while True:
            descriptors.append(os.dup(0))
    except OSError:
        chosen()
    for descriptor in descriptors:
        os.close(descriptor)


def do_interpreter():
    code = "def inside(): pass\ninside()\ninside()"
    try:
        import _xxsubinterpreters as interpreters
        run = interpreters.run_string
    except ImportError:
        import _interpreters as interpreters
        run = interpreters.exec
    run(interpreters.create(), code)
    chosen(0)


def do_deep():
    sys.setrecursionlimit(10**6)
    try:
        chosen(500000)
    except RecursionError:
        print("caught")


def do_raised():
    import resource
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, hard))
    sys.setrecursionlimit(10**6)
    chosen(60000)


def do_names():
    words = {"co_name": "n m", "co_filename": "/x y\\/z\tq\n\x1b.py", "co_firstlineno": 7}
    if sys.version_info >= (3, 11):
        words["co_qualname"] = "a b\nstub \ud800 \x1b[31m;é"
    chosen.__code__ = do_nothing.__code__.replace(**words)
    chosen()


def do_nothing():
    pass


def do_same():
    for _ in range(200):
        exec(compile("def again(): pass\nagain()", "made.py", "exec"))


class Often:
    def __init__(self, depth):
        self.depth = chosen(depth)

    def __getitem__(self, index):
        return chosen(index)

    def __getattr__(self, name):
        return chosen(0)

    @property
    def property(self):
        return chosen(0)


def do_often():
    for _ in range(300):
        often = Often(0)
        often[0], often.missing, often.property


def do_profile():
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append(f"{event} {frame.f_code.co_name}"))
    chosen()
    sys.setprofile(None)
    print(*seen, sep="\n")


def do_replace():
    api = ctypes.pythonapi
    api.PyInterpreterState_Main.restype = ctypes.c_void_p
    main = ctypes.c_void_p(api.PyInterpreterState_Main())
    api._PyInterpreterState_SetEvalFrameFunc(main, api._PyEval_EvalFrameDefault)
    compile("1", "file", "eval")
    chosen()


def do_exit():
    chosen(0)
    sys.exit(5)


globals()["do_" + sys.argv[1]]()
