"""Arrays in the files of numpy, with numpy or without it."""

import ast
import struct
import sys
import zipfile
from array import array

try:
    import numpy
except ImportError:
    numpy = None

MAGIC = b"\x93NUMPY"
CODES = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


class Array:
    """An array without numpy: `shape`, and `values`, an array.array in the order of rows."""

    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), values

    def __repr__(self):
        return f"tanist.arrays.Array(shape={self.shape})"

    def __len__(self):
        return self.shape[0]

    def tolist(self):
        """Nested lists."""
        def nested(first, shape):
            if not shape:
                return self.values[first]
            size = 1
            for dimension in shape[1:]:
                size *= dimension
            return [nested(first + i * size, shape[1:]) for i in range(shape[0])]
        return nested(0, self.shape)


def parse_npy(data):
    """The array in the bytes of a .npy file."""
    if data[:6] != MAGIC:
        raise ValueError("this is not a .npy file")
    size, at = struct.unpack_from("<H", data, 8) + (10,) if data[6] == 1 else struct.unpack_from("<I", data, 8) + (12,)
    header = ast.literal_eval(data[at:at + size].decode("latin1"))
    kind = header["descr"].lstrip("<|=")
    if kind not in CODES or header["fortran_order"]:
        raise ValueError(f"arrays of type {header['descr']} cannot be read without numpy")
    values = array(CODES[kind])
    values.frombytes(data[at + size:])
    if sys.byteorder == "big":
        values.byteswap()
    return Array(header["shape"], values)


def load_npz(path):
    """The arrays of a .npz file by name, in the order of the file. Other members, such as the columns of a model's
    inputs, are left out."""
    with zipfile.ZipFile(path) as file:
        names = [name[:-len(".npy")] for name in file.namelist() if name.endswith(".npy")]
        if numpy is None:
            return {name: parse_npy(file.read(f"{name}.npy")) for name in names}
    with numpy.load(path) as file:
        return {name: file[name] for name in names}


def npy_header(descr, shape):
    """The beginning of a .npy file, version 1."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    padding = -(len(MAGIC) + 4 + len(text) + 1) % 64
    text = text + " " * padding + "\n"
    return MAGIC + b"\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin1")


def write_npy(path, column):
    """Write a sequence of numbers as a .npy file: int64, or float32 with NaN for None."""
    column = list(column)
    if all(isinstance(value, int) for value in column):
        descr, body = "<i8", struct.pack(f"<{len(column)}q", *column)
    else:
        numbers = [float("nan") if value is None else float(value) for value in column]
        descr, body = "<f4", struct.pack(f"<{len(numbers)}f", *numbers)
    with open(path, "wb") as file:
        file.write(npy_header(descr, (len(column),)) + body)
