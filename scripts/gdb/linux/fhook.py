# SPDX-License-Identifier: GPL-2.0
"""
fhook in gdb: hooked functions, their hooks, and redirected functions.

The commands show the contents of the tracefs files with the same names, for a
stopped kernel or an image of its memory.  They take no locks: the data are those
of the moment when the kernel stopped, including a change in progress.  Functions
of modules have names after lx-symbols has been run.
"""

import gdb

from linux import cpus, lists, utils

hook_type = utils.CachedType("struct fhook_hook")
patch_type = utils.CachedType("struct fhook_patch")
span_type = utils.CachedType("struct fhook_span")
table_type = utils.CachedType("struct fhook_table")


def each(head, cached_type):
    """The entries of a global list, all of which call their link "list"."""
    if utils.gdb_eval_or_none(head) is None:
        raise gdb.GdbError("This kernel has no fhook (CONFIG_FHOOK).")
    return lists.list_for_each_entry(
        gdb.parse_and_eval(head), cached_type.get_type().pointer(), "list")


def spans_of(hook):
    return lists.list_for_each_entry(
        hook["spans"], span_type.get_type().pointer(), "list")


def turn(hook):
    """When a hook runs, among those of a function."""
    return -int(hook["ops"]["priority"]), int(hook["seq"])


def function_at(address, module=0):
    """The name of the function that an address is in."""
    words = gdb.execute("info symbol {:#x}".format(int(address)),
                        to_string=True).split()
    if words[0] != "No":
        return words[0]
    if module:
        return "{:#x} [{}]".format(int(address), module["name"].string())
    return "{:#x}".format(int(address))


def site_function(table, site):
    """The name of the function that a slot is in."""
    return function_at(int(table["base"]) + int(table["sites"][site]),
                       table["mod"])


def redirects_of(patch):
    """The redirects of a patch, and where those are that are in force."""
    for i in range(int(patch["num"])):
        redirect = patch["redirects"][i]
        place = None
        if redirect["table"]:
            place = int(redirect["table"]), int(redirect["site"])
        yield redirect, place


def warn_if_off():
    if gdb.parse_and_eval("fhook_switched_off"):
        gdb.write("fhook is switched off: what follows is not in force.\n")


class LxFhookEnabled(gdb.Command):
    """List the functions that fhook hooks, and by whom, in the order of calls."""

    def __init__(self):
        super().__init__("lx-fhook-enabled", gdb.COMMAND_DATA)

    def invoke(self, _arg, _from_tty):
        names = {}
        for hook in sorted(each("&fhook_hooks", hook_type), key=turn):
            name = hook["ops"]["name"].string()
            for span in spans_of(hook):
                for i in range(int(span["num"])):
                    place = int(span["table"]), int(span["sites"][i])
                    names.setdefault(place, []).append(name)
        redirected = {}
        for patch in each("&fhook_patches", patch_type):
            for redirect, place in redirects_of(patch):
                if place and redirect["enabled"]:
                    redirected[place] = "redirected to {} by {}".format(
                        function_at(redirect["replacement"]),
                        patch["name"].string())

        warn_if_off()
        for table in each("&fhook_tables", table_type):
            here = int(table)
            places = sorted(place for place in {*names, *redirected}
                            if place[0] == here)
            for place in places:
                self.show(table, place, names.get(place, []),
                          redirected.get(place))

    @staticmethod
    def show(table, place, names, redirected):
        line = "{} ({})".format(site_function(table, place[1]), len(names))
        if names:
            line += "\thooks: " + " ".join(names)
        if redirected:
            line += "\t" + redirected
        gdb.write(line + "\n")


class LxFhookStat(gdb.Command):
    """List the hooks of fhook, with their hits and misses."""

    def __init__(self):
        super().__init__("lx-fhook-stat", gdb.COMMAND_DATA)

    def invoke(self, _arg, _from_tty):
        form = "{:32} {:>9} {:>20} {:>12}  {}\n"
        gdb.write(form.format("# hook", "functions", "hits", "missed",
                              "struct fhook_ops"))
        for hook in each("&fhook_hooks", hook_type):
            stats = [cpus.per_cpu(hook["stat"], cpu)
                     for cpu in cpus.cpu_list("__cpu_possible_mask")]
            gdb.write(form.format(
                hook["ops"]["name"].string(),
                sum(int(span["num"]) for span in spans_of(hook)),
                sum(int(stat["hits"]) for stat in stats),
                sum(int(stat["missed"]) for stat in stats),
                "{:#x}".format(int(hook["ops"]))))


class LxFhookRedirects(gdb.Command):
    """List the functions that fhook redirects, where to and by whom."""

    def __init__(self):
        super().__init__("lx-fhook-redirects", gdb.COMMAND_DATA)

    def invoke(self, _arg, _from_tty):
        warn_if_off()
        for patch in each("&fhook_patches", patch_type):
            for redirect, place in redirects_of(patch):
                state = "" if redirect["enabled"] else ", not enabled"
                if redirect["gone"]:
                    state = ", freed after init"
                elif not place:
                    state = ", waits for the module"
                gdb.write("{} -> {}\tby {}{}\n".format(
                    redirect["func"].string(),
                    function_at(redirect["replacement"]),
                    patch["name"].string(), state))


LxFhookEnabled()
LxFhookStat()
LxFhookRedirects()
