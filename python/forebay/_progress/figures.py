"""How far an epoch has come, and how fast."""

from __future__ import annotations

from dataclasses import dataclass

# Names for what the trainer waits for, by those of `Loader.limit` of the engine. Waits that are not
# listed have the name that the engine gives.
_WAITS = {"user_code": "your function"}


@dataclass(frozen=True)
class Figures:
    """Figures of one pass over an epoch, on this rank.

    `batches` of `total` are delivered; the total of an endless stream is None. `here` of them, with
    `samples` rows, were delivered in this pass, in `seconds`. For the share `wait` of the time since
    the last figures the trainer waited for batches, mostly because of `limit`.
    """

    epoch: int
    batches: int
    total: int | None
    here: int = 0
    samples: int = 0
    seconds: float = 0.0
    limit: str = "trainer"
    wait: float = 0.0

    @property
    def share(self) -> float:
        """The part of the epoch that is delivered, 0.0 to 1.0; 0.0 of an endless stream."""
        return min(1.0, self.batches / self.total) if self.total else 0.0

    @property
    def samples_per_second(self) -> float:
        return self.samples / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest of the epoch takes at this pass's pace, or None if unknown."""
        if self.total is None or not self.here:
            return None
        return max(0, self.total - self.batches) * self.seconds / self.here

    def head(self) -> str:
        return f"epoch {self.epoch}" + (f" {100 * self.share:3.0f}%" if self.total is not None else "")

    def tail(self) -> str:
        of = "" if self.total is None else f" of {self.total}"
        parts = [f"{self.batches}{of} batches"]
        if self.here:
            parts.append(f"{self.samples_per_second:.0f} samples/s")
        if self.seconds_left is not None:
            parts.append(f"{_clock(self.seconds_left)} left")
        if self.here:
            cause = "" if self.limit == "trainer" else f" for {_WAITS.get(self.limit, self.limit)}"
            parts.append(f"waits {100 * min(1.0, self.wait):.0f} %{cause}")
        return ", ".join(parts)

    def line(self, width: int) -> str:
        """The figures with a bar, in at most `width` characters, of which the bar takes the rest."""
        head, tail = self.head(), self.tail()
        room = width - len(head) - len(tail) - 4
        if room < 4 or self.total is None:  # a shorter bar would show nothing
            return f"{head} {tail}"[:width]
        full = int(self.share * room)
        return f"{head} [{('=' * full + '>')[:room].ljust(room)}] {tail}"

    def __str__(self) -> str:
        return f"{self.head()}: {self.tail()}"

    def _repr_html_(self) -> str:
        bar = "" if self.total is None else f'<progress value="{self.share:.4f}" max="1" style="width: 20em"></progress> '
        return f"<div>{self.head()} {bar}{self.tail()}</div>"


def _clock(seconds: float) -> str:
    """Formats a time as in 0:07 or 2:03:04."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
