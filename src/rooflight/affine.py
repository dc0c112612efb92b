"""Linear forms over arrays: most numbers of a step are one, so most arithmetic is that of a few plain coefficients.

FLOP and bytes of a product grow with its rows, its time at a fixed rate with them, and which of two times is larger is
often the same at all points of a block. A form keeps coefficients and becomes an array where its elements are asked
for. Sums and products are exact where those of arrays are (whole numbers below 2^53), else rounded as often or less.
"""

from __future__ import annotations

from typing import Any

_PLAIN = (float, int)
_NONE = (float("nan"), float("nan"))


class Points:
    """An array that forms are made of, by identity: its least and largest element, and its products with others."""

    __slots__ = ("_ends", "array", "products")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.products: dict[int, tuple[Points, Points]] = {}
        self._ends: tuple[float, float] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """(least, largest); not a number where an element is none."""
        if self._ends is None:
            self._ends = (float(self.array.min()), float(self.array.max())) if self.array.size else _NONE
        return self._ends

    def times(self, other: Points) -> Points:
        """Their product, one object however often it is asked for."""
        if id(other) in self.products:
            return self.products[id(other)][1]
        if id(self) in other.products:
            return other.products[id(self)][1]
        product = Points(self.array * other.array)
        self.products[id(other)] = other, product
        return product


class Affine:
    """offset + the sum of factor x points: acts as the array that it stands for. Immutable."""

    __slots__ = ("_array", "offset", "terms")

    def __init__(self, terms: dict[Points, float], offset: float = 0) -> None:
        self.terms = terms
        self.offset = offset
        self._array: Any = None

    @property
    def array(self) -> Any:
        """Its elements."""
        if self._array is None:
            result: Any = None
            for points, factor in self.terms.items():
                part = points.array if factor == 1 else points.array * factor
                result = part if result is None else result + part
            self._array = result + self.offset if self.offset else result
        return self._array

    def ends(self) -> tuple[float, float]:
        """Limits that no element passes; reached where there is one array."""
        least = most = self.offset
        for points, factor in self.terms.items():
            low, high = points.ends
            least += factor * (low if factor >= 0 else high)
            most += factor * (high if factor >= 0 else low)
        return least, most

    def mean(self) -> float:
        """Over all elements."""
        return float(self.offset + sum(factor * points.array.mean() for points, factor in self.terms.items()))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, _PLAIN):
            return Affine(self.terms, self.offset + other) if other else self
        other = form(other)
        terms = dict(self.terms)
        for points, factor in other.terms.items():
            terms[points] = terms.get(points, 0) + factor
        return Affine(terms, self.offset + other.offset)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return Affine({points: -factor for points, factor in self.terms.items()}, -self.offset)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, _PLAIN):
            if other == 1 or not other:
                return self if other else 0.0
            return Affine({points: factor * other for points, factor in self.terms.items()}, self.offset * other)
        if not isinstance(other, Affine):
            return self.array * other
        terms: dict[Points, float] = {}
        for mine, factor in self.terms.items():
            for theirs, times in other.terms.items():
                both = mine.times(theirs)
                terms[both] = terms.get(both, 0) + factor * times
        product = Affine(terms, self.offset * other.offset)
        if other.offset:
            product += Affine(self.terms) * other.offset
        return product + Affine(other.terms) * self.offset if self.offset else product

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, _PLAIN):
            return Affine({points: factor / other for points, factor in self.terms.items()}, self.offset / other)
        if not isinstance(other, Affine):
            return self.array / other
        if not (self.offset or other.offset) and len(self.terms) == 1 and self.terms.keys() == other.terms.keys():
            return sum(self.terms.values()) / sum(other.terms.values())  # of one array, in proportion at every point
        return Affine({Points(self.array / other.array): 1})

    def __rtruediv__(self, other: Any) -> Any:
        return Affine({Points(other / self.array): 1})

    def __pow__(self, other: Any) -> Any:
        return self.array ** elements(other)

    def __rpow__(self, other: Any) -> Any:
        return other**self.array

    def __floordiv__(self, other: Any) -> Any:
        return self.array // elements(other)

    def __mod__(self, other: Any) -> Any:
        return self.array % elements(other)

    def __lt__(self, other: Any) -> Any:
        less = order(self, other)
        return self.array < elements(other) if less is None else less < 0

    def __gt__(self, other: Any) -> Any:
        more = order(self, other)
        return self.array > elements(other) if more is None else more > 0

    def __le__(self, other: Any) -> Any:
        return self.array <= elements(other)

    def __ge__(self, other: Any) -> Any:
        return self.array >= elements(other)

    def __eq__(self, other: object) -> Any:
        return self.array == elements(other)

    def __ne__(self, other: object) -> Any:
        return self.array != elements(other)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array if dtype is None else self.array.astype(dtype, copy=bool(copy))

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return getattr(function, method)(*map(elements, inputs), **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.array, name)

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]

    def __len__(self) -> int:
        return len(self.array)


_KNOWN = (*_PLAIN, Affine)


def form(value: Any) -> Any:
    """An array as a form over itself; a plain number, or a form, as it is."""
    return value if isinstance(value, _KNOWN) else Affine({Points(value): 1})


def like(other: Any, value: Any) -> Any:
    """A form over the value where the other is one, so that sums and products which follow stay coefficients."""
    return form(value) if isinstance(other, Affine) else value


def elements(value: Any) -> Any:
    """A form's array; anything else as it is."""
    return value.array if isinstance(value, Affine) else value


def order(one: Any, other: Any) -> int | None:
    """1 where one is larger at every point, -1 where it is smaller at every one, 0 where both are one number there;
    None where that differs, or is not known without looking at each."""
    if not (isinstance(one, _KNOWN) and isinstance(other, _KNOWN)):
        return None
    gap = one - other
    if not isinstance(gap, Affine):
        return (gap > 0) - (gap < 0)
    least, most = gap.ends()
    if least > 0:
        return 1
    if most < 0:
        return -1
    return 0 if least == most == 0 else None
