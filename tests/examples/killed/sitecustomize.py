"""Kills a program with SIGKILL as soon as it has printed a line that begins with FOREBAY_KILL_AT, once: the file FOREBAY_KILL_ONCE must not
exist. On PYTHONPATH, Python runs this before every program, and so also in the worker processes of Ray."""
import builtins
import os
import signal

_print = builtins.print


def _print_and_die(*values, **options):
    _print(*values, **options)
    if values and str(values[0]).startswith(os.environ["FOREBAY_KILL_AT"]):
        try:
            open(os.environ["FOREBAY_KILL_ONCE"], "x").close()
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


if "FOREBAY_KILL_AT" in os.environ:
    builtins.print = _print_and_die
