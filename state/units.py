"""Says what a written unit measures, and how many base units it is.

Decides which words after a number are units at all: those in the tables below and no others, since a unit
library left alone reads rooms as amperes ("12 A") and prepositions as inches ("3 in") (DESIGN 4.2). Never
converts money, never guesses a unit whose size depends on the country (gallon, ton), the trade (calorie) or
the scale (degree): those count only against themselves.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pint import UnitRegistry


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit as written: `amount x factor + offset` is the amount in `base`.

    Two numbers can be compared when their `base` is the same text, such as `kilogram`, `meter/second`,
    `USD` or `%`. `is_measured` is False for what is counted, not measured: money, percent, gallons.
    """

    base: str
    factor: Fraction
    offset: Fraction
    is_measured: bool


# Name in the registry of pint -> spellings, apart by "|", in any case; plurals in -s and British endings are
# added to each. A pound is taken as a weight, since money has its sign.
_MEASURED: Final = {
    # length
    "millimeter": "mm|millimeter",
    "centimeter": "cm|cms|centimeter",
    "decimeter": "decimeter",
    "meter": "meter|mtr|mtrs",
    "kilometer": "km|kms|kilometer",
    "micrometer": "micrometer|micron",
    "nanometer": "nanometer",
    "inch": "inch|inches",
    "foot": "ft|foot|feet",
    "yard": "yd|yds|yard",
    "mile": "mi|mile",
    "nautical_mile": "nmi|nautical mile",
    "light_year": "light-year|light year",
    # mass
    "microgram": "mcg|microgram",
    "milligram": "mg|milligram",
    "gram": "gram",
    "kilogram": "kg|kgs|kilo|kilogram",
    "metric_ton": "tonne|metric ton",
    "pound": "lb|lbs|pound",
    "ounce": "oz|ounce",
    "stone": "stone",
    # time
    "nanosecond": "nanosecond",
    "microsecond": "microsecond",
    "millisecond": "msec|millisecond",
    "second": "sec|secs|second",
    "minute": "min|mins|minute",
    "hour": "hr|hrs|hour",
    "day": "day|days",
    "week": "wk|wks|week",
    "fortnight": "fortnight",
    "month": "month",
    "year": "yr|yrs|year|year old|years old|yr old|yrs old|year of age|years of age|-year-old|year-old",
    "decayear": "decade",  # the decade of pint is a tenfold on a logarithmic scale
    "century": "century|centuries",
    # temperature
    "degC": "°c|degc|deg c|celsius|centigrade|degree celsius|degrees celsius|degrees centigrade|degrees c",
    "degF": "°f|degf|deg f|fahrenheit|degree fahrenheit|degrees fahrenheit|degrees f",
    "kelvin": "kelvin",
    # area
    "millimeter**2": "mm2|square millimeter",
    "centimeter**2": "cm2|sq cm|square centimeter",
    "meter**2": "m2|sqm|sq m|square meter",
    "kilometer**2": "km2|sq km|square kilometer",
    "hectare": "ha|hectare",
    "acre": "acre",
    "inch**2": "sq in|square inch|square inches",
    "foot**2": "ft2|sqft|sq ft|square foot|square feet",
    "yard**2": "sq yd|square yard",
    "mile**2": "sq mi|square mile",
    # volume
    "milliliter": "ml|milliliter",
    "centiliter": "cl|centiliter",
    "deciliter": "dl|deciliter",
    "liter": "liter",
    "cubic_centimeter": "cc|cm3|cubic centimeter",
    "meter**3": "m3|cubic meter",
    "cubic_foot": "ft3|cubic foot|cubic feet",
    # speed
    "meter/second": "m/s|meters per second|metres per second",
    "kilometer/hour": "km/h|kmh|kph|kilometers per hour|kilometres per hour",
    "mile/hour": "mph|miles per hour|miles an hour",
    "foot/second": "ft/s|feet per second",
    "knot": "knot",
    # data and its rates
    "bit": "bit|bits",
    "byte": "byte",
    "kilobyte": "kb|kilobyte",
    "megabyte": "mb|megabyte",
    "gigabyte": "gb|gigabyte",
    "terabyte": "tb|terabyte",
    "petabyte": "petabyte",
    "kibibyte": "kib|kibibyte",
    "mebibyte": "mib|mebibyte",
    "gibibyte": "gib|gibibyte",
    "tebibyte": "tib|tebibyte",
    "kilobit/second": "kbps|kbit/s|kilobits per second",
    "megabit/second": "mbps|mbit/s|megabits per second",
    "gigabit/second": "gbps|gbit/s|gigabits per second",
    # power, energy, electricity
    "watt": "watt",
    "kilowatt": "kw|kilowatt",
    "megawatt": "megawatt",
    "gigawatt": "gw|gigawatt",
    "watt_hour": "wh|watt hour|watt-hour",
    "kilowatt_hour": "kwh|kilowatt hour|kilowatt-hour",
    "megawatt_hour": "megawatt hour|megawatt-hour",
    "joule": "joule",
    "kilojoule": "kj|kilojoule",
    "megajoule": "megajoule",
    "kilocalorie": "kcal|kilocalorie",
    "volt": "volt",
    "kilovolt": "kv|kilovolt",
    "ampere": "amp|amps|ampere",
    "milliampere": "milliamp|milliampere",
    "milliampere_hour": "mah",
    "ohm": "ohm|ohms",
    "newton": "newton",
    # pressure, frequency
    "pascal": "pascal",
    "hectopascal": "hpa|hectopascal",
    "kilopascal": "kpa|kilopascal",
    "megapascal": "megapascal",
    "bar": "bar|bars",
    "millibar": "mbar|millibar",
    "psi": "psi",
    "atmosphere": "atm|atmosphere",
    "millimeter_Hg": "mmhg|mm hg",
    "hertz": "hz|hertz",
    "kilohertz": "khz|kilohertz",
    "megahertz": "mhz|megahertz",
    "gigahertz": "ghz|gigahertz",
}

# Spellings whose capitals matter, or that are one letter. A, K, J and N are left out: "12 A" is a room,
# "300 K" may be thousands; so are C and F without a degree sign. NFKC turns the ordinal sign of "5 ºC" to o.
_MEASURED_EXACTLY: Final = {
    "meter": "m",
    "gram": "g",
    "second": "s",
    "hour": "h",
    "liter": "l|L",
    "watt": "W",
    "volt": "V",
    "degC": "oC",
    "degF": "oF",
    "nanometer": "nm",
    "micrometer": "μm|um",
    "microgram": "μg|ug",
    "microsecond": "μs",
    "nanosecond": "ns",
    "millisecond": "ms",
    "milliwatt": "mW",
    "megawatt": "MW",
    "megawatt_hour": "MWh",
    "megajoule": "MJ",
    "milliampere": "mA",
    "millivolt": "mV",
    "kilonewton": "kN",
    "ohm": "Ω",
    "pascal": "Pa",
    "megapascal": "MPa",
    "kilobit": "Kb|kbit",
    "megabit": "Mb|Mbit",
    "gigabit": "Gb|Gbit",
    "megabyte/second": "MB/s",
    "gigabyte/second": "GB/s",
}
# In capitals these mean something else as often: millions, a rank.
_DUBIOUS: Final = frozenset(("MM", "ML", "CC", "HA", "MI"))

_COUNTED: Final = {
    "%": "%|percent|per cent|pct",
    "‰": "‰|per mille|permille",
    "percentage point": "pp|percentage point",
    "degree": "°|deg|degree",
    "gallon": "gal|gallon",
    "quart": "quart",
    "pint": "pint",
    "cup": "cup|cups",
    "fluid ounce": "fl oz|fluid ounce",
    "ton": "ton|tons",
    "calorie": "cal|cals|calorie",
    "horsepower": "hp|bhp|horsepower",
    "beat/minute": "bpm|beats per minute",
    "revolution/minute": "rpm|revolutions per minute",
    "mile/gallon": "mpg|miles per gallon",
    "pixel": "px|pixel",
    "megapixel": "megapixel",
    "decibel": "db|decibel",
}

# The plain dollar is taken as that of the United States; the others have their own signs.
_MONEY_SIGNS: Final = {
    "$": "USD", "US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD",
    "HK$": "HKD", "S$": "SGD", "R$": "BRL", "MX$": "MXN", "€": "EUR", "£": "GBP", "¥": "JPY", "CN¥": "CNY",
    "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY", "₴": "UAH", "₪": "ILS", "₫": "VND",
    "฿": "THB", "₿": "BTC",
}  # fmt: skip
# No code that is also a word, or a name that people number: ALL, CUP, PHP, TRY.
_MONEY_CODES: Final = frozenset((
    "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "ISK", "PLN", "CZK", "HUF",
    "RON", "BGN", "RUB", "UAH", "ILS", "AED", "SAR", "INR", "CNY", "HKD", "TWD", "KRW", "SGD", "THB", "MYR",
    "IDR", "VND", "BRL", "MXN", "ARS", "CLP", "COP", "ZAR", "EGP", "NGN", "KES", "BTC", "ETH",
))  # fmt: skip
_MONEY_WORDS: Final = {
    "USD": "dollar|us dollar|bucks",
    "CAD": "canadian dollar",
    "AUD": "australian dollar",
    "EUR": "euro",
    "GBP": "pound sterling|pounds sterling|british pound",
    "JPY": "yen|japanese yen",
    "CHF": "swiss franc",
    "CNY": "yuan|renminbi|rmb",
    "INR": "rupee|indian rupee",
    "RUB": "ruble|rouble",
    "BTC": "bitcoin",
    "krone": "kr|krone|kroner|kronor",  # four countries write so, hence not the code of one
}


def unit_of(written: str) -> Unit | None:
    """Return the unit that stands after a number, or None for what is not one (DESIGN 4.2).

    `written` has its capitals, is NFKC, without space at its ends: `kg`, `°C`, `years old`, `USD`, `%`.
    The first measured unit of a process takes about a second, while pint builds its registry; each unit is
    asked for once and remembered, and there are only as many as the tables name.
    """
    if (name := _EXACT.get(written)) is not None:
        return _measured(name)
    if written in _DUBIOUS:
        return None
    folded = written.replace(".", "").casefold()
    if (name := _ANY_CASE.get(folded)) is not None:
        return _measured(name)
    if (base := _OWN_MEASURE.get(folded)) is not None:
        return _counted(base)
    return money_before(written)


def money_before(written: str) -> Unit | None:
    """Return the currency that may stand before a number: its sign (`$`, `US$`) or code (`EUR`), or None."""
    code = _MONEY_SIGNS.get(written, written if written in _MONEY_CODES else None)
    return None if code is None else _counted(code)


def _by_spelling(table: Mapping[str, str]) -> dict[str, str]:
    return {
        variant: name
        for name, spellings in table.items()
        for spelled in spellings.split("|")
        for variant in _variants(spelled)
    }


def _variants(spelled: str) -> Iterator[str]:
    """The spelling, its British form and the regular plural of both; symbols stay alone."""
    for american, british in (("meter", "metre"), ("liter", "litre"), ("gram", "gramme"), ("", "")):
        if spelled.endswith(american):
            for form in {spelled, spelled.removesuffix(american) + british}:
                yield form
                if len(form) > 3 and form.isascii() and not form.endswith("s"):
                    yield f"{form}s"
            return


_EXACT: Final = {spelled: name for name, all_ in _MEASURED_EXACTLY.items() for spelled in all_.split("|")}
_ANY_CASE: Final = _by_spelling(_MEASURED)
_OWN_MEASURE: Final = {
    **{
        code.casefold(): code for code in _MONEY_CODES - {"CAD", "COP", "RON", "RUB"}
    },  # words in small letters
    **_by_spelling(_COUNTED),
    **_by_spelling(_MONEY_WORDS),
}


@lru_cache(maxsize=256)
def _counted(base: str) -> Unit:
    return Unit(base, Fraction(1), Fraction(0), is_measured=False)


@lru_cache(maxsize=256)
def _measured(name: str) -> Unit:
    """Ask pint what zero and one of a unit are in base units: that gives factor and offset exactly."""
    registry = _registry()
    zero = registry.Quantity(Fraction(0), name).to_base_units()
    one = registry.Quantity(Fraction(1), name).to_base_units()
    offset = Fraction(zero.magnitude)
    base = _base_name((str(of), Fraction(str(power))) for of, power in one.unit_items())
    return Unit(base, Fraction(one.magnitude) - offset, offset, is_measured=True)


def _base_name(powers: Iterable[tuple[str, Fraction]]) -> str:
    """`kilogram*meter^2/second^3`: alphabetical, so that it does not depend on how pint orders them."""
    above: list[str] = []
    below: list[str] = []
    for name, power in sorted(powers):
        (above if power > 0 else below).append(name if abs(power) == 1 else f"{name}^{abs(power)}")
    return "/".join(["*".join(above) or "1", *below])


@cache
def _registry() -> "UnitRegistry[Fraction]":
    """Build the only registry. Fractions keep every factor exact; pint's own cache on disk stays off."""
    import pint  # takes half a second, and most processes never see a unit

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)
