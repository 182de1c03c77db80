"""XXH64 with seed 0 of less than 32 bytes, by its definition, and the keys that tables have for texts."""

MASK = (1 << 64) - 1
PRIMES = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)


def rotated(x, bits):
    return (x << bits | x >> (64 - bits)) & MASK


def xxh64(data):
    assert len(data) < 32
    hashed = (PRIMES[4] + len(data)) & MASK
    while len(data) >= 8:
        lane = rotated(int.from_bytes(data[:8], "little") * PRIMES[1] & MASK, 31) * PRIMES[0] & MASK
        hashed, data = (rotated(hashed ^ lane, 27) * PRIMES[0] + PRIMES[3]) & MASK, data[8:]
    if len(data) >= 4:
        lane = int.from_bytes(data[:4], "little") * PRIMES[0] & MASK
        hashed, data = (rotated(hashed ^ lane, 23) * PRIMES[1] + PRIMES[2]) & MASK, data[4:]
    for byte in data:
        hashed = rotated(hashed ^ byte * PRIMES[4] & MASK, 11) * PRIMES[0] & MASK
    hashed = (hashed ^ hashed >> 33) * PRIMES[1] & MASK
    hashed = (hashed ^ hashed >> 29) * PRIMES[2] & MASK
    return hashed ^ hashed >> 32


def key_of(text):
    """The key of a text: the upper 63 bits."""
    return xxh64(text.encode()) >> 1
