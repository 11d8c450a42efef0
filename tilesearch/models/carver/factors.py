"""Divisors and prime factors."""

from __future__ import annotations

from functools import cache


@cache
def prime_factors(n: int) -> tuple[int, ...]:
    """The prime factors of n, ascending, with repetition; none of 1."""
    found = []
    factor = 2
    while factor * factor <= n:
        while n % factor == 0:
            found.append(factor)
            n //= factor
        factor += 1 if factor == 2 else 2
    return (*found, n) if n > 1 else tuple(found)


@cache
def divisors(n: int) -> tuple[int, ...]:
    """The divisors of n, ascending."""
    found = [1]
    last, width = 0, 1
    for factor in prime_factors(n):
        width = width if factor == last else len(found)
        found += [d * factor for d in found[len(found) - width :]]
        last = factor
    return tuple(sorted(found))
