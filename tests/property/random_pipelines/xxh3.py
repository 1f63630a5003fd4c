"""XXH3 with 64 bits, from its specification, for up to 240 bytes."""

_MASK = 2**64 - 1
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_MX1, _MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def _read(data, at, size):
    return int.from_bytes(data[at : at + size], "little")


def _secret(at, size=8):
    return _read(_SECRET, at, size)


def _avalanche(h):
    h ^= h >> 37
    h = h * _MX1 & _MASK
    return h ^ h >> 32


def _avalanche64(h):
    h ^= h >> 33
    h = h * _P64[1] & _MASK
    h ^= h >> 29
    h = h * _P64[2] & _MASK
    return h ^ h >> 32


def _fold(a, b):
    product = a * b
    return (product & _MASK) ^ (product >> 64)


def _mix16(data, at, secret, seed):
    low, high = _read(data, at, 8), _read(data, at + 8, 8)
    return _fold(low ^ (_secret(secret) + seed) & _MASK, high ^ (_secret(secret + 8) - seed) & _MASK)


def _swap32(x):
    return int.from_bytes((x & 0xFFFFFFFF).to_bytes(4, "little"), "big")


def _rotl(x, r):
    return (x << r | x >> 64 - r) & _MASK


def _short(data, seed):
    n = len(data)
    if n == 0:
        return _avalanche64(seed ^ _secret(56) ^ _secret(64))
    if n <= 3:
        combined = data[0] << 16 | data[n >> 1] << 24 | data[-1] | n << 8
        return _avalanche64(combined ^ ((_secret(0, 4) ^ _secret(4, 4)) + seed) & _MASK)
    if n <= 8:
        seed ^= _swap32(seed) << 32
        h = (_read(data, n - 4, 4) + (_read(data, 0, 4) << 32)) ^ ((_secret(8) ^ _secret(16)) - seed) & _MASK
        h ^= _rotl(h, 49) ^ _rotl(h, 24)
        h = h * _MX2 & _MASK
        h ^= (h >> 35) + n
        h = h * _MX2 & _MASK
        return h ^ h >> 28
    low = _read(data, 0, 8) ^ ((_secret(24) ^ _secret(32)) + seed) & _MASK
    high = _read(data, n - 8, 8) ^ ((_secret(40) ^ _secret(48)) - seed) & _MASK
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return _avalanche((n + swapped + high + _fold(low, high)) & _MASK)


def xxh3_64(data: bytes, seed: int = 0) -> int:
    seed &= _MASK
    n = len(data)
    if n <= 16:
        return _short(data, seed)
    if n > 240:
        raise ValueError("too long")
    acc = n * _P64[0] & _MASK
    if n <= 128:
        for i in reversed(range((n - 1) // 32 + 1)):
            acc += _mix16(data, 16 * i, 32 * i, seed) + _mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
        return _avalanche(acc & _MASK)
    for i in range(8):
        acc += _mix16(data, 16 * i, 16 * i, seed)
    acc = _avalanche(acc & _MASK)
    for i in range(8, n // 16):
        acc += _mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    acc += _mix16(data, n - 16, 136 - 17, seed)
    return _avalanche(acc & _MASK)
