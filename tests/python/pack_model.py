"""A slow model of `.pack()`: which elements stand where, with lists."""
import numpy as np


def kept(count, length, too_long):
    """The part (begin, end) of a row that is packed."""
    if count <= length or too_long == "split":
        return 0, count
    return {"left": (count - length, count), "right": (0, length), "drop": (0, 0)}[too_long]


def cut(parts, length):
    """All rows one after another, and every `length` elements a block."""
    elements = [(i, at) for i, (begin, end) in parts for at in range(begin, end)]
    blocks = []
    for start in range(0, len(elements), length):
        block = []
        for i, at in elements[start:start + length]:
            if block and block[-1][0] == i:
                block[-1][2] += 1
            else:
                block.append([i, at, 1])
        blocks.append([tuple(piece) for piece in block])
    return blocks


class Open:
    """Blocks that rests may still go into, by number."""

    def __init__(self, length, max_segments, limits=()):
        self.blocks, self.open, self.length, self.max_segments, self.limits = [], [], length, max_segments, limits

    def new(self, pieces, is_open):
        self.blocks.append(pieces)
        if is_open:
            self.open.append(len(self.blocks) - 1)
        return len(self.blocks) - 1

    def space(self, block):
        return self.length - sum(count for _, _, count in self.blocks[block])

    def fits(self, block, i, count):
        """`limits`: (most, costs of all rows) of each further budget."""
        spent = [sum(costs[row] for row, _, _ in self.blocks[block]) for _, costs in self.limits]
        return self.space(block) >= count and all(one + costs[i] <= most for one, (most, costs) in zip(spent, self.limits))

    def add(self, block, piece):
        self.blocks[block].append(piece)
        if self.space(block) == 0 or len(self.blocks[block]) == self.max_segments:
            self.open.remove(block)


def whole_blocks(blocks, i, begin, end, length):
    """Puts what fills blocks into blocks of its own; gives the rest."""
    while end - begin >= length:
        blocks.new([(i, begin, length)], is_open=False)
        begin += length
    return begin, end


def first_fit(parts, length, open_blocks=64, max_segments=None, limits=()):
    blocks = Open(length, max_segments, limits)
    for i, (begin, end) in parts:
        begin, end = whole_blocks(blocks, i, begin, end, length)
        if begin == end:
            continue
        fitting = [block for block in blocks.open if blocks.fits(block, i, end - begin)]
        if not fitting:
            if len(blocks.open) == open_blocks:
                blocks.open.remove(min(blocks.open, key=blocks.space))
            fitting = [blocks.new([], is_open=True)]
        blocks.add(fitting[0], (i, begin, end - begin))
    return blocks.blocks


def best_fit(parts, length, window=65536, max_segments=None, limits=()):
    all_blocks = []

    def largest_part(rest):
        i, begin, end = rest
        return max([-(-((end - begin) << 31) // length), *(-(-(costs[i] << 31) // most) for most, costs in limits)])

    for first in range(0, len(parts), window):
        blocks = Open(length, max_segments, limits)
        rests = [(i, *whole_blocks(blocks, i, begin, end, length)) for i, (begin, end) in parts[first:first + window]]
        for i, begin, end in sorted(rests, key=largest_part, reverse=True):
            if begin == end:
                continue
            fitting = [block for block in blocks.open if blocks.fits(block, i, end - begin)]
            block = min(fitting, key=lambda one: (blocks.space(one), one)) if fitting else blocks.new([], is_open=True)
            blocks.add(block, (i, begin, end - begin))
        all_blocks += [sorted(block) for block in blocks.blocks]
    return all_blocks


def blocks_of(lengths, length, how="first-fit", too_long="split", groups=None, **options):
    """Of each block the (row, from, count) of its pieces."""
    rule = {"first-fit": first_fit, "best-fit": best_fit, "cut": cut}[how]
    blocks, first = [], 0
    for group in groups or [len(lengths)]:
        parts = [(i, kept(lengths[i], length, too_long)) for i in range(first, first + group)]
        blocks += rule(parts, length, **options)
        first += group
    return blocks


def filled(values, block, length, pad=0, shift=0, tail=None):
    """The elements of a field of a block; `tail` replaces what the shift leaves out of each segment."""
    out = []
    for i, begin, count in block:
        part = list(values[i][begin + shift:begin + count])
        out += part + [pad if tail is None else tail] * (count - len(part))
    return out + [pad] * (length - len(out))


def segments_of(block, length):
    numbers = [number for number, (_, _, count) in enumerate(block, 1) for _ in range(count)]
    return numbers + [0] * (length - len(numbers))


def positions_of(block, length):
    places = [place for _, _, count in block for place in range(count)]
    return places + [0] * (length - len(places))


def cu_seqlens_of(block, length):
    """As flash-attn counts: 0 and the ends of all segments, of which padding is one."""
    ends = list(np.cumsum([0] + [count for _, _, count in block]))
    return ends if ends[-1] == length else [*ends, length]
