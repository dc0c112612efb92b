"""A field of a question, told once: its option, its check, its schema, its control and its page are made from that."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from rooflight.errors import BadInput, Named, UnknownName
from rooflight.numeric import Number
from rooflight.units import in_bytes, network, to_base

# Token counts above this are typing errors, and would lose exactness in floats soon after.
LARGEST = 1 << 40
# More devices than any cluster has is a typing error.
LARGEST_DEGREE = 1 << 20
# Fewer bytes than a mebibyte are a unit left out.
SMALLEST_SIZE = 1 << 20
# Fewer a second than one in thirty years is a typing error.
SMALLEST_RATE = 1e-9
# An image larger than a satellite's, and more of them than a prompt has room for, are typing errors.
_LONGEST_SIDE = 1 << 16
_MOST_IMAGES = 1 << 12
_LONGEST_SIZES = 1000

Kind = Literal[
    "count",
    "degree",
    "share",
    "size",
    "chance",
    "rate",
    "format",
    "choice",
    "name",
    "network",
    "bandwidth",
    "flag",
    "images",
    "amount",
    "model",
]
Axis = Literal["", "points", "deployments", "rows"]


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a field beside its type and default, which stand in Workload or Deployment.

    words       what it is, in a sentence or two
    kind        count: a whole number, in a sweep an array of them; degree: a whole number of devices; share: of 1,
                and not nothing; size: bytes, or a text with a unit; chance: from 0 to 1; rate: a number of so many a
                second; format: the name of a number format; choice: one of `choices`; name; network: a rate with its
                unit, and a latency; bandwidth: a rate with its unit; flag; images: sizes of images; model: the name
                of one; amount: a number above 0 of so many
    unit        what a number counts
    least, most     of a number; a share is more than its least
    aliases     further spellings of its option: vLLM's, as far as it has one
    spelled     its option, where that is not its name with dashes
    off         of a flag that is on: what the option that turns it off does
    blank       the default in words, where the value does not say it; "": not worth saying
    axis        points: several values are a dimension of a sweep's grid; deployments: each is a deployment of a sweep
                or a comparison; rows: of a comparison alone; "": it takes one value
    name, default   filled in by fields_of
    """

    words: str
    kind: Kind = "count"
    unit: Literal[
        "", "sequences", "tokens", "devices", "workers", "requests/s", "layers", "elements", "heads", "ranks",
        "adapters", "GiB", "s",
    ] = ""  # fmt: skip
    least: int = 1
    most: int = LARGEST
    aliases: tuple[str, ...] = ()
    spelled: str = ""
    off: str = ""
    blank: str | None = None
    choices: tuple[str, ...] = ()
    axis: Axis = ""
    name: str = ""
    default: Any = None

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return self.spelled or f"--{self.name.replace('_', '-')}"

    @property
    def shown_default(self) -> str:
        """The default in words, "" where it is not worth saying."""
        if self.blank is not None or self.kind == "flag":
            return self.blank or ""
        return str(self.default)

    @property
    def told(self) -> str:
        """Its words, and its default in brackets."""
        return f"{self.words} [{self.shown_default}]" if self.shown_default else self.words

    def checked(self, value: Any) -> Any:
        """The value in its own type; a None stays where it is the default. Raises BadInput with the field's name."""
        return None if value is None and self.default is None else _CHECKS[self.kind](self, value)


def fields_of(kind: type[msgspec.Struct]) -> dict[str, Field]:
    """The fields of Workload or Deployment by name, in order."""
    defaults = {one.name: one.default for one in msgspec.structs.fields(kind)}
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        told = next((one for one in get_args(hint) if isinstance(one, Field)), None)
        if get_origin(hint) is Annotated and told is not None:
            found[name] = msgspec.structs.replace(told, name=name, default=defaults[name])
    return found


def describe(target: Any, fields: Iterable[Field]) -> None:
    """Add fields to what help() says of a class or a function."""
    if target.__doc__ is not None:  # python -OO leaves none
        lines = [f"    {one.name:<24}{one.told}" for one in fields]
        target.__doc__ = "\n".join([inspect.cleandoc(target.__doc__), "", "Fields by name:", "", *lines])


def check(value: msgspec.Struct, fields: dict[str, Field]) -> None:
    """Every field of a Workload or Deployment checked, and kept in its own type. Raises BadInput."""
    for name, field in fields.items():
        given = getattr(value, name)
        if given is not field.default:
            msgspec.structs.force_setattr(value, name, field.checked(given))


def _count(field: Field, value: Any) -> Number:
    """A Python int (or an array of whole numbers, as it is) of at least the field's least; raises BadInput."""
    if hasattr(value, "shape") and value.shape:
        kind = value.dtype.kind in "iuf" and value.size
        if kind and bool(((value >= field.least) & (value <= field.most) & (value % 1 == 0)).all()):
            return value
    else:
        number = _index(value)
        if number is not None and field.least <= number <= field.most:
            return number
        if number is not None and number > field.most:
            raise BadInput(
                f"{field.name} is too large", where=Named.of(field.name), got=_short(value),
                want=f"a whole number up to {_power(field.most)}",
            )  # fmt: skip
    raise BadInput(
        f"{field.name} must be a whole number of at least {field.least}",
        where=Named.of(field.name),
        got=_short(value),
        want=f"a whole number from {field.least} to {_power(field.most)}",
    )


def _index(value: Any) -> int | None:
    """A whole number as an int, whatever type it comes in; None for anything else."""
    if isinstance(value, bool | str | bytes):
        return None
    try:
        return operator.index(value)
    except TypeError:
        pass
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and number == int(number) else None


def _power(number: int) -> str:
    return f"2^{number.bit_length() - 1}"


def amount(name: str, value: Any, *, zero: bool = False) -> float:
    """A number above 0 (or 0 itself, with `zero`) as a float. Raises BadInput."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        want = "a finite number from 0" if zero else "a finite number above 0"
        raise BadInput(f"{name} is no such amount", where=Named.of(name), got=_short(value), want=want)
    return float(value)


def one_of(text: str, allowed: tuple[str, ...], where: str) -> str:
    """One of a few words, in any case; raises UnknownName with the near ones."""
    word = str(text).strip().lower()
    if word in allowed:
        return word
    import difflib

    said = str(text) if len(str(text)) <= 60 else str(text)[:60] + "..."
    near = difflib.get_close_matches(word, allowed, n=2)
    raise UnknownName(
        f"{said!r} is not one of {', '.join(allowed)}",
        where=where,
        got=said,
        want=f"one of {', '.join(allowed)}",
        try_this=" or ".join(near) or None,
    )


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _degree(field: Field, value: Any) -> int:
    none = field.least - 1  # what is no whole number is out of range, wherever the range begins
    try:
        number = none if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = none
    if not field.least <= number <= field.most:
        raise BadInput(
            f"{field.name} must be a whole number from {field.least} to {field.most:,}",
            where=Named.of(field.name),
            got=_short(value),
            want="0, 1, 2 ..." if field.least == 0 else "1, 2, 4 ...",
        )
    return number


def _share(field: Field, value: Any) -> float:
    share = _float(value)
    if not field.least < share <= field.most:
        raise BadInput(
            f"{field.name.replace('_', '-')} must be a share between {field.least} and {field.most}",
            where=Named.of(field.name),
            got=value,
            want=f"more than {field.least}, at most {field.most}",
            try_this="0.9" if field.default is None else str(field.default),
        )
    return share


def _size(field: Field, value: Any) -> float:
    """Bytes, from a number of them or a text such as 48GiB; raises BadInput.

    Where numbers count GiB, a small one does, and 0 is nothing.
    """
    try:
        if field.unit == "GiB" and not isinstance(value, bool) and 0 <= float(value) < SMALLEST_SIZE:
            return to_base(float(value), "GiB")
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        size = in_bytes(value) if isinstance(value, str) else _float(value)
    except ValueError:
        size = math.nan
    if not SMALLEST_SIZE <= size <= field.most**2:
        raise BadInput(
            f"{field.name} is no size", where=Named.of(field.name), got=_short(value),
            want="bytes, or a number with kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024)",
            try_this=Named(f"{{{field.name}}}", **{field.name: "48GiB"}),
        )  # fmt: skip
    return size


def _chance(field: Field, value: Any) -> float:
    number = _float(value)
    if not 0 <= number <= 1:
        raise BadInput(
            f"{field.name.replace('_', '-')} is out of range", where=Named.of(field.name), got=value,
            want="a share from 0 to 1",
        )  # fmt: skip
    return number


def _rate(field: Field, value: Any) -> float:
    number = _float(value)
    if not SMALLEST_RATE <= number <= field.most:
        raise BadInput(
            f"{field.name.replace('_', '-')} is out of range", where=Named.of(field.name), got=value,
            want=f"a number of {field.unit}, from {SMALLEST_RATE:g} to {_power(field.most)}",
        )  # fmt: skip
    return number


def _amount(field: Field, value: Any) -> float:
    number = _float(value)
    if not 0 < number <= field.most:
        raise BadInput(
            f"{field.name.replace('_', '-')} is out of range", where=Named.of(field.name), got=_short(value),
            want=f"a number above 0, up to {_power(field.most)}",
        )  # fmt: skip
    return number


def _images(field: Field, value: Any) -> str:
    """Sizes of images in their shortest spelling. Raises BadInput."""
    found = image_sizes(value) if isinstance(value, str) else None
    if not found:
        raise BadInput(
            f"{field.name} are no sizes of images", where=Named.of(field.name), got=_short(value),
            want=f"width x height in pixels, 1 to {_LONGEST_SIDE:,} each, perhaps a number of them in front, up to"
            f" {_MOST_IMAGES:,} in all",
            try_this=Named(f"{{{field.name}}}", **{field.name: "1024x1024"}),
        )  # fmt: skip
    sizes = (f"{count}x{width}x{height}" if count > 1 else f"{width}x{height}" for count, width, height in found)
    return ",".join(sizes)


def image_sizes(text: str) -> tuple[tuple[int, int, int], ...] | None:
    """(number, width, height) of each size of a text such as 2x640x480,1024x1024; None where it says something else."""
    if len(text) > _LONGEST_SIZES:
        return None
    found = []
    for one in text.lower().split(","):
        parts = one.strip().split("x")
        if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
            return None
        count, width, height = map(int, parts if len(parts) == 3 else ("1", *parts))
        if not (1 <= width <= _LONGEST_SIDE and 1 <= height <= _LONGEST_SIDE and 1 <= count <= _MOST_IMAGES):
            return None
        found.append((count, width, height))
    return tuple(found) if sum(count for count, _, _ in found) <= _MOST_IMAGES else None


def _float(value: Any) -> float:
    """A number, NaN for anything else."""
    try:
        return math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _name(field: Field, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    raise BadInput(
        f"{field.name} is the name of a format or a mode", where=Named.of(field.name), got=repr(value), want="a name"
    )


def _network(field: Field, value: Any) -> str:
    try:
        network(value if isinstance(value, str) else "")
    except ValueError:
        raise BadInput(
            f"{field.name} is no rate with its unit", where=Named.of(field.name), got=_short(value),
            want="what a device sends, one way, perhaps a latency: 400Gb/s (b: bits), 50GB/s, 400Gb/s,5us"
            if field.name == "network" else "bytes or bits a second with their unit: 80GB/s, 25GB/s, 400Gb/s",
        ) from None  # fmt: skip
    return str(value)


def _bandwidth(field: Field, value: Any) -> str:
    try:
        latency_s = network(value if isinstance(value, str) else "")[1]
    except ValueError:
        latency_s = math.nan
    if latency_s is not None:
        raise BadInput(
            f"{field.name} is no rate with its unit", where=Named.of(field.name), got=_short(value),
            want="what is read of it, such as 80GB/s, or 640Gb/s (b: bits)",
        )  # fmt: skip
    return str(value)


def _choice(field: Field, value: Any) -> str:
    if isinstance(value, str) and value in field.choices:
        return next(choice for choice in field.choices if choice == value)
    choices = " or ".join(field.choices)
    raise BadInput(f"{field.name} is {choices}", where=Named.of(field.name), got=value, want=choices)


def _flag(field: Field, value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise BadInput(f"{field.name} is True or False", where=Named.of(field.name), got=repr(value), want="True or False")


_CHECKS: dict[Kind, Callable[[Field, Any], Any]] = {
    "count": _count, "degree": _degree, "share": _share, "size": _size, "chance": _chance, "rate": _rate,
    "format": _name, "name": _name, "network": _network, "bandwidth": _bandwidth, "choice": _choice, "flag": _flag,
    "images": _images, "amount": _amount, "model": _name,
}  # fmt: skip
