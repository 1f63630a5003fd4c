"""Which contestants there are, with which Python each runs, and which are missing here."""

import dataclasses
import functools
import os
import shlex
import shutil
import subprocess
import sys


@dataclasses.dataclass(frozen=True)
class Contestant:
    module: str = ""            # in the benchmark's rivals/; empty: a program of its own
    folder: str | None = None   # environment below --rivals; None: Forebay's Python
    extra: tuple = ()           # more entries of its job
    needs: tuple = ("forebay", "numpy")  # modules that Forebay's Python must have
    program: str = ""           # the option that gives its command, where it is a program


def python_of(contestant, options):
    return os.path.join(options.rivals, contestant.folder, "bin", "python") if contestant.folder else options.forebay_python


@functools.cache
def lacking(python, modules):
    """Which of these modules this Python cannot find; all of them where there is no such Python."""
    script = "import sys, importlib.util as u; print(*[name for name in sys.argv[1:] if u.find_spec(name) is None])"
    if not shutil.which(python):
        return modules
    done = subprocess.run([python, "-c", script, *modules], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return tuple(done.stdout.split()) if done.returncode == 0 else modules


def why_missing(contestant, options):
    """What would have to be given or installed, or None."""
    if contestant.program:
        command = getattr(options, contestant.program)
        if command and shutil.which(shlex.split(command)[0]):
            return None
        return f"--{contestant.program.replace('_', '-')} {'names no program' if command else 'is not given'}"
    if contestant.folder:
        there = os.path.exists(python_of(contestant, options))
        return None if there else f"bench/rivals/install {options.rivals or 'RIVALS'} {contestant.folder}"
    absent = lacking(options.forebay_python, contestant.needs)
    return f"{options.forebay_python} lacks {', '.join(absent)}" if absent else None


def known(names, contestants, also=""):
    """The names, or an exit that lists those that there are; `contestants` maps each to its Contestant."""
    unknown = [name for name in dict.fromkeys(names) if name.partition("@")[0] not in contestants]
    if unknown:
        sys.exit(f"no such loader: {', '.join(unknown)} (there are: {', '.join(contestants)}{also})")
    return list(names)


def present(names, contestants, options):
    """Those that can run here. The others are told in one line, with what each lacks."""
    lacks = {name: why for name in dict.fromkeys(names) if (why := why_missing(contestants[name.partition("@")[0]], options))}
    if lacks:
        told = "; ".join(f"{name} ({why})" for name, why in lacks.items())
        print(f"NOT INSTALLED, left out: {told}", file=sys.stderr)
    return [name for name in names if name not in lacks]
