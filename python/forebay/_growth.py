"""How many threads user code gets: decided by measurement, free of threads and clocks, so that it can be tested as it is."""

from __future__ import annotations

import copy
from dataclasses import dataclass

CAP = 256
UNJUDGED = 64  # as far as waiting alone carries, before a rate is known: 64 idle threads cost next to nothing
PATIENCE_S = 0.02  # of a size at which hardly anything was completed
HOLD_ROUNDS = 32

WAITING_SHARE = 0.2  # of the time in calls, below which more threads have nothing to fill
LOCK_TAKEN = 0.4  # share of attempts; one that finds it free four times in ten is hardly held up
LOCK_CORES = 0.5  # CPU use from which on calls may well be waiting for the lock, which one core's worth of Python fills
CORES_BUSY = 0.85
ROUND_S = 0.1
HINT_AFTER_S = 2.0


@dataclass
class Sample:
    """What was seen since the last look."""

    now_s: float
    completed: int  # calls, since the beginning
    busy: int  # threads inside of calls
    waiting: float  # share of the time in calls in which a thread neither ran nor stood in line for a core
    lock_taken: float  # share of attempts to get the interpreter lock that had to wait for it
    process_cores: float  # CPU seconds per second of the whole process
    call_cores: float  # of these, in calls
    cores: int


class Growth:
    """The number of threads, from samples.

    *Waiting* is time in calls that is neither CPU time nor time in line for a core, seen while a thread that wants the
    interpreter lock gets it at once and the process leaves cores idle: then a call waits for something outside, and more
    calls can wait beside it. A call that waits for the lock looks the same from inside, but then the lock is taken when the
    sampling thread tries, too. Code that lets go of the lock often hides that; so where calls use about a core, only a clear
    gain counts. Where calls hold the lock fewer threads than at the beginning are tried, too, down to one.

    While calls wait and all threads are in calls, the number doubles. As soon as a size has completed enough calls for a
    rate, the rate decides: a doubling that brings less than a tenth (a third, where calls use about a core) is taken back,
    and the half is tried as long as it loses less than a twentieth. Both are tried again now and then.
    """

    def __init__(self, start: int, cap: int = CAP) -> None:
        self.start = start
        self.size = start
        self.cap = max(start, cap)
        self._ceiling = self.cap
        self._from = 0  # the size before this one, while this one is on trial
        self._rates: dict[int, float] = {}
        self._hold = 0  # rounds until sizes are tried again
        self._since_s = -1.0  # of the round; negative: none
        self._done_before = 0
        self._warm = False
        self._to_warm_up = 0
        self._lock_taken = 0.0
        self.waits = False  # calls did, when last looked at

    def look(self, sample: Sample) -> int:
        """The number of threads that there should be."""
        self._lock_taken += 0.3 * (sample.lock_taken - self._lock_taken)
        self.waits = waits = (
            sample.waiting >= WAITING_SHARE
            and max(self._lock_taken, sample.lock_taken) < LOCK_TAKEN
            and sample.process_cores < CORES_BUSY * sample.cores
        )
        if sample.busy < self.size - self.size // 8:  # not enough to do: rates would say nothing
            self._since_s = -1.0
        elif self._since_s < 0:
            self._begin_round(sample, warm=False)
        else:
            self._go_on(sample, waits)
        return self.size

    def again(self) -> Growth:
        """The same, for threads that begin anew: what was learned stays."""
        made = copy.copy(self)
        made._rates, made._since_s, made._lock_taken = dict(self._rates), -1.0, 0.0
        return made

    def limit(self, cap: int) -> None:
        """No more than this from now on."""
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
        # Threads that take turns for the lock lose time at each turn: one alone may be the fastest.
        return 1 if self._lock_taken >= LOCK_TAKEN else self.start

    def _try(self, size: int) -> None:
        self._from, self.size = self.size, size

    def _settle_at(self, size: int, hold: int = 0) -> None:
        self.size, self._from, self._hold = size, 0, hold


class LockWatch:
    """Notices user code that computes while it holds the interpreter lock, and that processes would speed up: for a while
    threads are in calls, the lock is hardly ever free, calls use about one core together, and other cores idle."""

    def __init__(self) -> None:
        self._held_s = 0.0
        self._last_s = -1.0
        self._from_s, self._from_completed = 0.0, 0
        self.rate = 0.0  # calls a second, while that was so

    def look(self, sample: Sample, size: int) -> bool:
        """Whether that has been so for long enough."""
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
    """Whether user code that went to worker processes completes clearly more calls there than the `rate` that threads did."""

    WARM_UP_S, MEASURED_S, LEAST_GAIN = 1.0, 2.0, 1.1

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._warm_s = self._busy_s = 0.0
        self._done = 0
        self._last: Sample | None = None

    def look(self, sample: Sample, size: int) -> bool | None:
        """None: not known yet."""
        last, self._last = self._last, sample
        # With less to do than there are processes a rate says what the rest of the pipeline asks for.
        if last is None or 2 * sample.busy < size:
            return None
        seconds = sample.now_s - last.now_s
        if self._warm_s < self.WARM_UP_S:
            self._warm_s += seconds
            return None
        self._busy_s += seconds
        self._done += sample.completed - last.completed
        return None if self._busy_s < self.MEASURED_S else self._done / self._busy_s >= self.LEAST_GAIN * self._rate
