# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the table of Python (`bindings/python/src/segue/_table.py`) for `bindings/api` from the signature table."""

from __future__ import annotations

from typing import Any

WIDTH = 120  # columns, as in ruff.toml
# The names in Python's table of the types that are passed by value.
TYPES = {
    "bool": "Bool",
    "int32": "Int32",
    "uint32": "UInt32",
    "int64": "Int64",
    "uint64": "UInt64",
    "size": "Size",
    "double": "Double",
}
TABLE = '''# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C interface as one table: the declarations of `include/segue.h`, in its order.

Made by `bindings/api --write`. `tests/test_table.py` compares each row with `segue-api.json`.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    c_bool,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = {version}
"""SEGUE_VERSION of the header that this table was made from."""

NUL_TERMINATED = c_size_t(-1).value
MESSAGE_SIZE = {message_size}
ID_SIZE = {id_size}

Bool = c_bool
Int32 = c_int32
Int64 = c_int64
UInt32 = c_uint32
UInt64 = c_uint64
Double = c_double
Size = c_size_t
Status = c_int32

Handle = c_void_p
"""A ticket: segue_app * and its like."""
Bytes = c_char_p
"""Bytes that the library only reads; a length goes with them."""
Address = c_void_p
"""Memory that the library writes to, memory of the library, or a context."""

{callbacks}
CALLBACKS: dict[str, Any] = {{
{names}}}
"""The callback types of the header by name."""

FUNCTIONS: tuple[tuple[str, tuple[Any, ...], Any], ...] = (
{functions})
"""Name, types of the arguments, type of the result."""
'''

Object = dict[str, Any]


def name_of(callback: str) -> str:
    return callback.removeprefix("segue_").removesuffix("_function").upper()


def type_of(parameter: Object, in_callback: bool) -> str:
    """The name of a type in Python's table. Strings of a callback may have NUL bytes inside: they come as addresses."""
    if parameter["type"] == "function":
        return name_of(parameter["callback"])
    if parameter["type"] == "pointer":
        if parameter["role"] == "handle" and parameter["direction"] == "in":
            return "Handle"
        reads_only = parameter["direction"] == "in" and parameter["c"] in ("const char *", "const uint8_t *")
        return "Bytes" if reads_only and not in_callback else "Address"
    if parameter.get("enumerator") == "segue_status":
        return "Status"
    return TYPES[parameter["type"]]


def render(table: Object) -> str:
    """The table of Python, in the format of `ruff format`."""
    constants = {item["name"]: item["value"] for item in table["constants"]}
    results = TYPES | {"void": "None", "pointer": "Bytes"}
    callbacks = ""
    for item in table["callbacks"]:
        types = [results[item["returns"]], *(type_of(each, in_callback=True) for each in item["parameters"])]
        callbacks += f"{name_of(item['name'])} = CFUNCTYPE({', '.join(types)})\n"
    functions = ""
    for item in table["functions"]:
        types = [type_of(each, in_callback=False) for each in item["parameters"]]
        parts = [f'"{item["name"]}"', f"({', '.join(types)}{',' if len(types) == 1 else ''})"]
        parts.append("Status" if item["returns"] == "int32" else results[item["returns"]])
        row = f"    ({', '.join(parts)}),"
        lines = [row] if len(row) <= WIDTH else ["    (", *(f"        {each}," for each in parts), "    ),"]
        functions += "".join(f"{line}\n" for line in lines)
    names = "".join(f'    "{item["name"]}": {name_of(item["name"])},\n' for item in table["callbacks"])
    return TABLE.format(
        version=f"0x{constants['SEGUE_VERSION']:06X}",
        message_size=constants["SEGUE_MESSAGE_SIZE"],
        id_size=constants["SEGUE_ID_SIZE"],
        callbacks=callbacks,
        names=names,
        functions=functions,
    )
