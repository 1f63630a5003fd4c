"""The number of threads for user code. It is decided by measurements, without threads or clocks, so
it can be tested directly.
"""

from __future__ import annotations

import copy

from ._typing import NamedTuple

CAP = 256
UNJUDGED = 64  # limit for growth by waiting alone, before a rate is known: 64 idle threads cost almost nothing
PATIENCE_S = 0.02  # time allowed for a size at which almost nothing completes
HOLD_ROUNDS = 32

WAITING_SHARE = 0.2  # share of the time in calls; below it more threads have nothing to fill
LOCK_TAKEN = 0.4  # share of attempts; a call that finds the lock free four times in ten is hardly delayed
LOCK_CORES = 0.5  # CPU use from which calls may be waiting for the lock: Python code under the lock fills one core
CORES_BUSY = 0.85
ROUND_S = 0.1
HINT_AFTER_S = 2.0


class Sample(NamedTuple):
    """Measurements since the last sample."""

    now_s: float
    completed: int  # calls, since the beginning
    busy: int  # threads inside calls
    waiting: float  # share of the time in calls in which a thread neither ran nor waited for a core
    lock_taken: float  # share of attempts to get the interpreter lock that had to wait for it
    process_cores: float  # CPU seconds per second of the whole process
    call_cores: float  # the part of these in calls
    cores: int


class Growth:
    """Decides the number of threads from samples.

    *Waiting* is time in calls that is neither CPU time nor waiting for a core. It counts while a
    thread that wants the interpreter lock gets it at once and the process leaves cores idle. Then a
    call waits for something outside the process, and more calls can wait at the same time. A call
    that waits for the lock looks the same from inside, but then the sampling thread finds the lock
    taken, too. Code that often releases the lock can hide this, so if calls use about one core,
    only a clear gain counts. If calls hold the lock, smaller numbers than the initial one are
    tried, too, down to one.

    While calls wait and all threads are in calls, the number doubles. Once a size has completed
    enough calls to measure a rate, the rate decides. A doubling that gains less than a tenth (a
    third, if calls use about one core) is reverted. Half the size is tried as long as it loses less
    than a twentieth. Both are retried from time to time.
    """

    def __init__(self, start: int, cap: int = CAP) -> None:
        self.start = start
        self.size = start
        self.cap = max(start, cap)
        self._ceiling = self.cap
        self._from = 0  # the previous size while the current one is on trial, else 0
        self._rates: dict[int, float] = {}
        self._hold = 0  # rounds until sizes are tried again
        self._since_s = -1.0  # start of the round; negative: no round
        self._done_before = 0
        self._warm = False
        self._to_warm_up = 0
        self._lock_taken = 0.0
        self.waits = False  # whether calls waited at the latest sample

    def look(self, sample: Sample) -> int:
        """Returns the number of threads to use."""
        self._lock_taken += 0.3 * (sample.lock_taken - self._lock_taken)
        self.waits = waits = (
            sample.waiting >= WAITING_SHARE
            and max(self._lock_taken, sample.lock_taken) < LOCK_TAKEN
            and sample.process_cores < CORES_BUSY * sample.cores
        )
        if sample.busy < self.size - self.size // 8:  # too little work for meaningful rates
            self._since_s = -1.0
        elif self._since_s < 0:
            self._begin_round(sample, warm=False)
        else:
            self._go_on(sample, waits)
        return self.size

    def again(self) -> Growth:
        """Returns a copy for new threads that keeps what was learned."""
        made = copy.copy(self)
        made._rates, made._since_s, made._lock_taken = dict(self._rates), -1.0, 0.0
        return made

    def limit(self, cap: int) -> None:
        """Limits the number from now on."""
        self.size = self.cap = self._ceiling = max(1, cap)

    def _begin_round(self, sample: Sample, warm: bool) -> None:
        self._since_s, self._done_before, self._warm = sample.now_s, sample.completed, warm
        self._to_warm_up = max(sample.busy, self.size)  # calls that began before this round

    def _go_on(self, sample: Sample, waits: bool) -> None:
        done, seconds = sample.completed - self._done_before, sample.now_s - self._since_s
        doubtful = sample.call_cores >= LOCK_CORES
        if self._warm and done >= max(2 * self.size, 16) and seconds >= (3 * ROUND_S if doubtful else ROUND_S):
            before = self.size
            self._judge(done / seconds, waits, 1.33 if doubtful else 1.1)
            self._begin_round(sample, warm=self.size == before)
        elif not self._warm and done >= self._to_warm_up:
            self._begin_round(sample, warm=True)
        elif (
            waits and not doubtful and not self._warm
            and done < self.size / 2 and self.size < UNJUDGED and seconds >= PATIENCE_S
        ):  # fmt: skip
            self._from = 0
            self.size = min(2 * self.size, self._ceiling)
            self._begin_round(sample, warm=False)

    def _judge(self, rate: float, waits: bool, gain: float) -> None:
        before = self._rates.get(self._from)
        self._rates[self.size] = rate
        if before is not None and self._from < self.size and rate < gain * before:
            self._ceiling = self._from
            self._settle_at(self._from)
        elif before is not None and self._from > self.size and rate < 0.95 * before:
            self._ceiling = self._from
            self._settle_at(self._from, HOLD_ROUNDS)
        elif self._from > self.size:
            self._ceiling = self.size
            self._settle_at(self.size)
        elif waits and self.size < self._ceiling:
            self._try(min(2 * self.size, self._ceiling))
        elif self._hold > 0:
            self._hold -= 1
            self._from = 0
            self._ceiling = self.cap if self._hold == 0 else self._ceiling
        elif self.size > self._least():
            self._try(max(self.size // 2, self._least()))
        else:
            self._settle_at(self.size, HOLD_ROUNDS)

    def _least(self) -> int:
        # Threads that take turns for the lock lose time at each turn, so a single thread may be the
        # fastest.
        return 1 if self._lock_taken >= LOCK_TAKEN else self.start

    def _try(self, size: int) -> None:
        self._from, self.size = self.size, size

    def _settle_at(self, size: int, hold: int = 0) -> None:
        self.size, self._from, self._hold = size, 0, hold


class LockWatch:
    """Detects user code that computes while it holds the interpreter lock and that processes would
    speed up.

    The signs, for some time: threads are in calls, the lock is hardly ever free, calls together use
    about one core, and other cores are idle.
    """

    def __init__(self) -> None:
        self._held_s = 0.0
        self._last_s = -1.0
        self._from_s, self._from_completed = 0.0, 0
        self.rate = 0.0  # calls per second while the signs hold

    def look(self, sample: Sample, size: int) -> bool:
        """Returns whether the signs have held for long enough."""
        seconds = sample.now_s - self._last_s if self._last_s >= 0 else 0.0
        self._last_s = sample.now_s
        held = (
            2 * sample.busy >= size
            and sample.cores > 1
            and sample.lock_taken >= 0.7
            and 0.7 <= sample.call_cores
            and sample.process_cores <= 1.3
        )
        self._held_s = max(0.0, self._held_s + (seconds if held else -2 * seconds))
        if self._held_s == 0.0:
            self._from_s, self._from_completed = sample.now_s, sample.completed
        elif sample.now_s > self._from_s:
            self.rate = (sample.completed - self._from_completed) / (sample.now_s - self._from_s)
        return self._held_s >= HINT_AFTER_S


class MoveTrial:
    """Decides whether user code that moved to worker processes completes clearly more calls there
    than the `rate` of the threads.
    """

    WARM_UP_S, MEASURED_S, LEAST_GAIN = 1.0, 2.0, 1.1

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._warm_s = self._busy_s = 0.0
        self._done = 0
        self._last: Sample | None = None

    def look(self, sample: Sample, size: int) -> bool | None:
        """Returns the decision, or None while it is not known."""
        last, self._last = self._last, sample
        # If there is less work than processes, the rate only shows the demand of the rest of the
        # pipeline.
        if last is None or 2 * sample.busy < size:
            return None
        seconds = sample.now_s - last.now_s
        if self._warm_s < self.WARM_UP_S:
            self._warm_s += seconds
            return None
        self._busy_s += seconds
        self._done += sample.completed - last.completed
        return None if self._busy_s < self.MEASURED_S else self._done / self._busy_s >= self.LEAST_GAIN * self._rate
