"""Damages the bytes of a file at random."""

import numpy as np

NUMBERS = [0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]
"""Counts and offsets that formats may not expect."""
WORDS = [
    b"",
    b"nan",
    b"inf",
    b"-1",
    b"1e39",
    b"1e400",
    b'"',
    b",",
    b";",
    b"\n",
    b"\x00",
    b"\xff\xfe",
    b"[",
    b"{",
    b"null",
    b"true",
    b"%",
]


def damaged(content: bytes, generator: np.random.Generator) -> bytes:
    """The content with one to three changes; in two thirds of the cases its length stays, since most formats check that first."""
    found = bytearray(content)
    change = (flipped, overwritten, spliced)[generator.integers(3)]
    for _ in range(generator.integers(1, 4)):
        change(found, int(generator.integers(0, max(1, len(found)))), generator)
    return bytes(found)


def flipped(content: bytearray, place: int, generator: np.random.Generator) -> None:
    """Flip a bit."""
    if content:
        content[place] ^= 1 << int(generator.integers(8))


def overwritten(content: bytearray, place: int, generator: np.random.Generator) -> None:
    """Overwrite bytes with an unusual number, a word, another part of the file or random bytes."""
    number = NUMBERS[generator.integers(len(NUMBERS))].to_bytes(8, "little")
    elsewhere = int(generator.integers(0, max(1, len(content))))
    word = WORDS[generator.integers(len(WORDS))]
    choices = [number, number[:4], number[:2], word, word, bytes(content[elsewhere : elsewhere + 16]), generator.bytes(4)]
    choice = choices[generator.integers(len(choices))][: max(0, len(content) - place)]
    content[place : place + len(choice)] = choice


def spliced(content: bytearray, place: int, generator: np.random.Generator) -> None:
    """Insert a word, repeat some bytes, or leave some or all of the rest out."""
    span = int(generator.integers(1, 65))
    word = WORDS[generator.integers(len(WORDS))]
    repeated = bytes(content[place : place + span])
    choices = [(0, word), (0, repeated), (span, b""), (span, word), (len(content), b"")]
    length, replacement = choices[generator.integers(len(choices))]
    content[place : place + length] = replacement
