"""Files of arrays, .safetensors and .npz, read by the definitions of their formats."""

import json
import math
import struct
import zipfile
from pathlib import Path


def read_safetensors(path):
    """{name: (shape, values)} and the metadata."""
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")
    values = data[8 + size:]
    arrays, end = {}, 0
    for name, entry in header.items():
        assert entry["data_offsets"][0] == end
        begin, end = entry["data_offsets"]
        kind = {"F32": "f", "I64": "q"}[entry["dtype"]]
        arrays[name] = (tuple(entry["shape"]), struct.unpack(f"<{math.prod(entry['shape'])}{kind}", values[begin:end]))
    assert end == len(values) and size % 8 == 0
    return arrays, metadata


def read_npz(path):
    """{name: (shape, values)}; other members than arrays are left out."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            if not name.endswith(".npy"):
                continue
            data = archive.read(name)
            assert data[:8] == b"\x93NUMPY\x01\x00"
            end = 10 + struct.unpack("<H", data[8:10])[0]
            header = eval(data[10:end], {})  # A literal of Python, by the definition of the format.
            assert not header["fortran_order"] and end % 64 == 0
            kind = {"<f4": "f", "<i8": "q"}[header["descr"]]
            values = struct.unpack(f"<{math.prod(header['shape'])}{kind}", data[end:])
            arrays[name.removesuffix(".npy")] = (header["shape"], values)
    return arrays
