"""Typed access to a parsed config.json: null is absent, aliases are tried in order, errors name file and key."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from rooflight.errors import BadConfig

_MISSING = object()
# Larger numbers are typing errors or hostile: no model has so many layers, heads or rows.
_DEPTHS = (
    "num_hidden_layers", "num_layers", "n_layers", "n_layer", "encoder_layers", "decoder_layers", "num_encoder_layers",
    "num_decoder_layers",
)  # fmt: skip
_MOST_LAYERS = 1 << 10
_MOST = 1 << 40
_LONGEST = 100  # characters of a number in a string
_LONGEST_TEXT = 10_000
# Names of every matrix of every expert are the longest lists there are: 896 experts in 60 layers come to 161,280.
MOST_ENTRIES = 250_000
_DEEPEST = 64  # objects and lists inside each other; published configs have 8

# What a list may hold: a test of an entry, and what a list of such entries is called.
Entry = Literal["name", "whole", "number", "mark", "object", "list"]
_ENTRIES: dict[Entry, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda one: isinstance(one, str), "a list of names"),
    "whole": (lambda one: type(one) is int, "a list of whole numbers"),
    "number": (lambda one: type(one) is int and 0 <= one <= _MOST, "a list of whole numbers"),
    "mark": (lambda one: isinstance(one, bool) or one in (0, 1), "a list of 0 and 1, or true and false"),
    "object": (lambda one: isinstance(one, Mapping), "a list of objects"),
    "list": (lambda one: isinstance(one, list), "a list of lists"),
}
_SHOWN = 80  # characters of a wrong value
_SHOWN_ENTRIES = 40
_MOST_SAID = 100  # assumptions, and warnings


def shown(value: Any) -> str:
    """A value of any size as an error shows it, cut after 80 characters."""
    text = repr(_pruned(value, 4))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _pruned(value: Any, levels: int) -> Any:
    """No more of a value than is shown: its repr may be megabytes long, or nested beyond what Python writes."""
    if isinstance(value, str):
        return value[: 2 * _SHOWN]
    if not isinstance(value, Mapping | list):
        return value
    if not levels:
        return "..."
    if isinstance(value, list):
        return [_pruned(one, levels - 1) for one in value[:_SHOWN_ENTRIES]]
    return {str(key)[: 2 * _SHOWN]: _pruned(one, levels - 1) for key, one in islice(value.items(), _SHOWN_ENTRIES)}


def _say(said: list[str], more: str) -> None:
    """Add a sentence, once; of hundreds, one for a module each, the last says that there are more."""
    if len(said) <= _MOST_SAID and more not in said:
        said.append(more if len(said) < _MOST_SAID else "there is more of this kind, which is left out here")


def refuse_deep(data: Mapping[str, Any], origin: str) -> None:
    """Refuse what is nested deeper than any config, which Python's own recursion would break at. Raises BadConfig."""
    level: list[Any] = [data]
    for _ in range(_DEEPEST):
        inside = (one.values() if isinstance(one, Mapping) else one for one in level)
        level = [one for values in inside for one in values if isinstance(one, Mapping | list)]
        if not level:
            return
    raise BadConfig(
        f"{origin} is nested too deeply for a config", where=origin, got=f"more than {_DEEPEST} levels",
        want="a JSON object a few levels deep",
    )  # fmt: skip


class Config:
    """One JSON object of a config file, with where it stands in it ("text_config" ...).

    `notes` (what was assumed), `warnings`, `left_out` (sizes the file is silent about, by object) and `met` (the keys
    that were asked for, with their paths) are shared between an object and its sections. `spelled` says which key of
    the file stands under a usual one (renamed()).
    """

    def __init__(self, data: Mapping[str, Any], *, origin: str, path: str = "", parent: Config | None = None) -> None:
        self.data = data
        self.origin = origin
        self.path = path
        self.spelled: dict[str, str] = {}
        self.notes: list[str] = parent.notes if parent else []
        self.warnings: list[str] = parent.warnings if parent else []
        self.left_out: dict[str, dict[str, Any]] = parent.left_out if parent else {}
        self.met: set[str] = parent.met if parent else set()

    def at(self, key: str) -> str:
        """Where a key stands, for an error: `config.json: text_config.hidden_size`."""
        return f"{self.origin}: {self.path}{self.spelled.get(key, key)}"

    def replaced(self, data: Mapping[str, Any]) -> Config:
        """The same object of the file with other content."""
        return Config(data, origin=self.origin, path=self.path, parent=self)

    def renamed(
        self, names: Mapping[str, str] | None = None, *, fixed: Mapping[str, Any] | None = None, **silent: Any
    ) -> Config:
        """The same object under the usual keys; errors still name those of the file.

        names     usual key -> keys of the file that mean it, tried in order, with blanks between
        fixed     replaces what the file says
        silent    fills in where the file says nothing
        """
        data, spelled = dict(self.data), dict(self.spelled)
        for usual, others in (names or {}).items():
            given = [other for other in others.split() if self.data.get(other) is not None]
            if given:
                found = given[0]
                self.aside(*(other for other in (*given[1:], usual) if self.data.get(other) == self.data[found]))
                data[usual], spelled[usual] = self.data[found], found
        data.update((key, value) for key, value in silent.items() if data.get(key) is None)
        data.update(fixed or {})
        self.aside(*(fixed or {}))
        result = self.replaced(data)
        result.spelled = spelled
        return result

    def aside(self, *keys: str) -> None:
        """Keys that are known to add nothing to the shapes here: read, whatever they say."""
        self.met.update(f"{self.path}{self.spelled.get(key, key)}" for key in keys)

    def repeats(self, key: str, known: object) -> None:
        """A key that is read where it says over again what is `known` from others; where it says more it is not."""
        if self.data.get(key) == known:
            self.aside(key)

    def raw(self, *keys: str) -> Any:
        """The first of `keys` that is present and not null, else None."""
        return self._found(keys)[1]

    def has(self, *keys: str) -> bool:
        return self.raw(*keys) is not None

    def _found(self, keys: Sequence[str]) -> tuple[str, Any]:
        """The first key that is given, and its value. Others of its meaning are met where they say the same."""
        found = next(((key, self.data[key]) for key in keys if self.data.get(key) is not None), (keys[0], None))
        self.aside(*(key for key in keys if key == found[0] or self.data.get(key) == found[1]))
        return found

    def integer(self, *keys: str, default: Any = _MISSING, at_least: int = 1, said: bool = True) -> int:
        """A whole number; a string of digits is read as one, with a warning. Raises BadConfig.

        A default in place of a missing key is said among the assumptions, but for 0 (the model has no such part) and
        where `said` is False: silence then is the usual way to say it.
        """
        key, value = self._found(keys)
        if value is None:
            usual: int = self._default(keys, default, "a whole number")
            if said and usual:
                self.silent(keys[0], usual)
            return usual
        if isinstance(value, str) and len(value) < _LONGEST and value.strip().removeprefix("-").isdecimal():
            number = int(value.strip())
            self.warn(f"{self.at(key)} is the string {value!r}; read as the number {number}")
            value = number
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(key, value, "a whole number")
        most = _MOST_LAYERS if key in _DEPTHS else _MOST
        if not at_least <= value <= most:
            raise self.bad(key, value, f"a whole number from {at_least} to {most:,}")
        return value

    @property
    def hidden(self) -> int:
        """The width of the model. Raises BadConfig."""
        width: int = self.integer("hidden_size")
        return width

    @property
    def layers(self) -> int:
        """How many layers there are. Raises BadConfig."""
        count: int = self.integer("num_hidden_layers")
        return count

    def assumed(self, *keys: str, default: int) -> int:
        """As integer(), with a note of its own where the default of the architecture is taken."""
        if not self.has(*keys):
            self.assume(f"{self.path}{keys[0]} is not given: {default}, the default of the architecture")
            return default
        number: int = self.integer(*keys)
        return number

    def uniform(self, *keys: str, **how: Any) -> int:
        """As integer(); a list of one and the same number a layer is read as that number."""
        key, value = self._found(keys)
        cfg = self
        if isinstance(value, list):
            numbers = self.items(key, of="whole", length=self.layers)
            if numbers and all(entry == numbers[0] for entry in numbers):
                cfg = self.replaced({key: numbers[0]})
        number: int = cfg.integer(*keys, **how)
        return number

    def scaled(self, key: str, size: int, default: float) -> int:
        """`size` times the factor a key gives, rounded down. Raises BadConfig where nothing is left."""
        result = int(self.number(key, default=default) * size)
        if result < 1:
            raise self.bad(key, self.raw(key), "a positive factor")
        return result

    def optional(self, *keys: str, at_least: int = 1) -> int | None:
        """As integer(), None where absent."""
        return self.integer(*keys, at_least=at_least) if self.has(*keys) else None

    def number(self, *keys: str, default: Any = _MISSING) -> float:
        """A finite number. Raises BadConfig."""
        key, value = self._found(keys)
        if value is None:
            number: float = self._default(keys, default, "a number")
            return number
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.bad(key, value, "a finite number")
        return float(value)

    def flag(self, *keys: str, default: bool = False) -> bool:
        """true or false; the strings "true" and "false" are read as such, with a warning. Raises BadConfig."""
        key, value = self._found(keys)
        if value is None:
            return default
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            self.warn(f"{self.at(key)} is the string {value!r}; read as {value.strip().lower()}")
            return value.strip().lower() == "true"
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise self.bad(key, value, "true or false")

    def text(self, *keys: str, default: Any = _MISSING) -> str:
        """A string. Raises BadConfig."""
        key, value = self._found(keys)
        if value is None:
            words: str = self._default(keys, default, "a string")
            return words
        if not isinstance(value, str):
            raise self.bad(key, value, "a string")
        if len(value) > _LONGEST_TEXT:
            raise self.bad(key, value, f"a string of at most {_LONGEST_TEXT:,} characters")
        return value

    def items(
        self,
        *keys: str,
        of: Entry,
        length: int | None = None,
        length_of: str = "num_hidden_layers",
    ) -> list[Any] | None:
        """A list of one kind of entry, None where absent; its length is checked against `length` where given.

        Raises BadConfig.
        """
        key, value = self._found(keys)
        if value is None:
            return None
        holds, want = _ENTRIES[of]
        if not isinstance(value, list):
            raise self.bad(key, value, want)
        if len(value) > MOST_ENTRIES:
            raise self.bad(key, f"{len(value):,} entries", f"a list of at most {MOST_ENTRIES:,} entries")
        odd = next((place for place, one in enumerate(value) if not holds(one)), None)
        if odd is not None:
            got = f"{shown(value[odd])} as entry {odd + 1}"
            raise BadConfig(f"{key} is not {want}", where=self.at(key), got=got, want=want)
        if length is not None and len(value) != length:
            raise BadConfig(
                f"{key} has {len(value)} entries, but {length_of} is {length}",
                where=self.at(key),
                got=f"{len(value)} entries",
                want=f"{length} entries, one a layer",
                try_this=f"cut or extend {key}, or set {length_of} to {len(value)}",
            )
        return value

    def section(self, *keys: str) -> Config | None:
        """A nested object as a Config of its own, None where absent. Raises BadConfig."""
        key, value = self._found(keys)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.bad(key, value, "an object")
        return Config(value, origin=self.origin, path=f"{self.path}{key}.", parent=self)

    def layer_numbers(self, key: str, layers: int) -> list[int] | None:
        """A list of layer numbers, None where absent; those beyond the layers are warned of. Raises BadConfig."""
        given = self.items(key, of="number")
        if given is None:
            return None
        beyond = [number for number in given if number >= layers]
        if beyond:
            self.warn(f"{self.path}{key} names layer {beyond[0]}, but the last of the {layers} layers is {layers - 1}")
        return sorted(set(given))

    def counted(self, key: str, layers: int) -> int:
        """A number of layers that a list or a word says by its length. Raises BadConfig."""
        if layers > _MOST_LAYERS:
            raise self.bad(key, f"{layers:,} layers", f"of at most {_MOST_LAYERS:,} layers")
        return layers

    def silent(self, key: str, value: object) -> None:
        """Note that the file leaves out a size, and what was taken."""
        self.left_out.setdefault(self.path, {})[key] = value

    def say_left_out(self) -> None:
        """One assumption an object for all the sizes it leaves out."""
        for path, sizes in self.left_out.items():
            spelled = ", ".join(f"{key} {value}" for key, value in sizes.items())
            self.assume(f"{path.rstrip('.') or 'the config'} leaves out {spelled}: the architecture's defaults")

    def assume(self, note: str) -> None:
        """Say what was assumed where the file is silent."""
        _say(self.notes, note)

    def warn(self, warning: str) -> None:
        _say(self.warnings, warning)

    def bad(self, key: str, value: Any, want: str, try_this: str | None = None) -> BadConfig:
        return BadConfig(f"{key} is not {want}", where=self.at(key), got=shown(value), want=want, try_this=try_this)

    def _default(self, keys: Sequence[str], default: Any, want: str) -> Any:
        if default is not _MISSING:
            return default
        names = " or ".join(keys)
        raise BadConfig(f"{names} is missing", where=self.at(keys[0]), got="nothing", want=want)
