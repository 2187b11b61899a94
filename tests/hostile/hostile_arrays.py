"""Hostile logs: arrays that run code, fill memory, or lie elsewhere."""

import bz2
import gzip
import io
import pickle
import sqlite3
import struct
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
from hostile_file import PAYLOAD, HostileFile, hdf5, text
from hostile_models import late, zip_bomb
from hostile_texts import link, pipe

IMPORT = "import {0} --robot arm.urdf -o new.h5"
IDENTIFY = "identify arm.urdf {0} -o e.json"


class Payload:
    """Writes the marker when it is unpickled."""

    def __reduce__(self):
        return exec, (PAYLOAD,)


def npy(header: str, data: bytes = b"") -> bytes:
    """Return an NPY file of a header and data."""
    padded = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + data


def npz(**parts: bytes) -> bytes:
    """Return an NPZ file of NPY files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(f"{name}.npy", part)
    return packed.getvalue()


def pickled_npz() -> bytes:
    """Return an NPZ file that holds an object."""
    header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    return npz(t=npy(header, pickle.dumps(np.array([Payload()], dtype=object))))


def bytes_npz() -> bytes:
    """Return an NPZ file whose columns are bytes."""
    file = io.BytesIO()
    np.savez(file, t=np.array([b"a", b"\xff"] * 50), q=np.array([b"x"] * 100))
    return file.getvalue()


def mat(element: bytes) -> bytes:
    """Return a MAT file of version 5 with an element that is compressed."""
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    return head + struct.pack("<II", 15, len(element)) + element


def mat_of_zeros() -> bytes:
    """Return a MAT file of 270 MB of zeros."""
    count = 1 << 25
    inner = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, count, 1)
    inner += struct.pack("<II", 1, 1) + b"t".ljust(8, b"\0") + struct.pack("<II", 9, 8 * count)
    packer = zlib.compressobj(9)
    packed = packer.compress(struct.pack("<II", 14, len(inner) + 8 * count) + inner)
    zeros = bytes(1 << 24)
    packed += b"".join(packer.compress(zeros) for _ in range(16))
    return mat(packed + packer.flush())


def parquet_of_zeros(folder: Path) -> None:
    """Write a Parquet file of 270 MB of zeros."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    zeros = pa.array(np.zeros(1 << 20))
    with pq.ParquetWriter(folder / "log.parquet", pa.schema([("t", pa.float64())])) as file:
        for _ in range(32):
            file.write_table(pa.table({"t": zeros}))


def fill(count: int, sets: int = 1):
    """Return what fills an HDF5 file with sets of zeros that are not there."""

    def write(file: h5py.File) -> None:
        for k in range(sets):
            file.create_dataset(f"q{k}", (count,), "f8", chunks=(1 << 16,))

    return write


def packed(file: h5py.File) -> None:
    """Fill an HDF5 file with zeros that are packed."""
    file.create_dataset("t", data=np.zeros(1 << 25), chunks=(1 << 20,), compression="gzip")


def nested(file: h5py.File) -> None:
    """Nest groups very deep."""
    group = file
    for _ in range(3000):
        group = group.create_group("g")
    group["t"] = np.zeros(9)


def external(file: h5py.File) -> None:
    """Name data in a file of the system."""
    file.create_dataset("t", (100,), "f8", external=[("/etc/passwd", 0, 800)])
    file["q"] = h5py.ExternalLink("/dev/zero", "/q")


def strings(file: h5py.File) -> None:
    """Hold texts and compounds where numbers are expected."""
    file["t"] = np.array([(1.0, b"x")] * 9, dtype=[("a", "f8"), ("b", "S9")])
    file.create_dataset("q", data=["x" * 9] * 9, dtype=h5py.string_dtype())


def attribute(file: h5py.File) -> None:
    """Nest the provenance of a log very deep."""
    file.attrs["schema"] = "robotid/log/2"
    file.attrs["provenance"] = "[" * 60_000


def gzip_of_zeros() -> bytes:
    """Return 270 MB of one character, packed."""
    return gzip.compress(b"t,q.shoulder\n" + b"1" * (1 << 28), 6)


def sparse(folder: Path) -> None:
    """Write a file of a terabyte that takes no room."""
    with (folder / "log2.csv").open("wb") as file:
        file.truncate(1 << 40)


def bag_of(messages: str):
    """Return what writes a ROS 2 bag whose messages are made by words of SQL."""

    def write(folder: Path) -> None:
        (folder / "bag").mkdir()
        rows = sqlite3.connect(folder / "bag" / "a.db3")
        rows.executescript(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, "
            "serialization_format TEXT, offered_qos_profiles TEXT);"
            "INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr', "
            f"'');{messages}"
        )
        rows.close()

    return write


ENDLESS_BAG = bag_of(
    "CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
    "SELECT id, 1 AS topic_id, id AS timestamp, zeroblob(100) AS data FROM n;"
)
COMPUTED_BAG = bag_of(
    "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, "
    "data AS (zeroblob(900000000)));"
    "INSERT INTO messages VALUES (1, 1, 1), (2, 1, 2);"
)


def bag_elsewhere(folder: Path) -> None:
    """Write a ROS 2 bag whose metadata names a file that is not its own."""
    text(
        "bag/metadata.yaml",
        "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n"
        "  duration: {nanoseconds: 1}\n  starting_time: {nanoseconds_since_epoch: 1}\n"
        "  message_count: 1\n  relative_file_paths: ['../../out.db3']\n"
        "  compression_format: ''\n  compression_mode: ''\n  topics_with_message_count: []\n"
        "  files: []\n",
    )(folder)
    sqlite3.connect(folder.parent / "out.db3").close()


YAML_BAG = text(
    "bag/metadata.yaml", f'rosbag2_bagfile_information: !!python/object/apply:exec ["{PAYLOAD}"]\n'
)


def _arrays():
    def imported(name, file, write, said="", words=IMPORT):
        return HostileFile(f"log {name}", words.format(file), write, said or file)

    head = "{{'descr': '{0}', 'fortran_order': False, 'shape': ({1},), }}"
    yield imported("npz pickle", "a.npz", late("a.npz", pickled_npz))
    yield imported(
        "npz of zeros", "a.npz", late("a.npz", lambda: zip_bomb("t.npy", 0.3)), "a.npz: .* claims"
    )
    yield imported("npz of bytes", "a.npz", late("a.npz", bytes_npz))
    huge = npz(t=npy(head.format("<f8", 10**12)))
    yield imported("npz shape", "a.npz", text("a.npz", huge))
    code = npz(t=npy("{'descr': __import__('os').system('touch code-of-a-stranger')}"))
    yield imported("npz header", "a.npz", text("a.npz", code))
    yield imported("npz directory", "a.npz", text("a.npz", b"PK\x03\x04" + b"\0" * 999))
    yield imported("mat of zeros", "a.mat", late("a.mat", mat_of_zeros), "a.mat: .* claims")
    yield imported("mat garbage", "a.mat", text("a.mat", mat(b"x" * 99)))
    yield imported("parquet of zeros", "log.parquet", parquet_of_zeros, "log.parquet: .* claims")
    yield imported(
        "gzip of ones", "a.csv.gz", late("a.csv.gz", gzip_of_zeros), "a.csv.gz: .* claims"
    )
    yield imported("sparse", "log2.csv", sparse, words=IDENTIFY)
    yield imported("sparse imported", "log2.csv", sparse)
    for kind, words in (("imported", IMPORT), ("identified", IDENTIFY)):
        for suffix in ("csv", "h5", "npz"):
            file = f"p.{suffix}"
            yield imported(f"{suffix} pipe {kind}", file, pipe(file), f"{file} is a device", words)
        zero = link("z.csv", "/dev/zero")
        yield imported(f"device {kind}", "z.csv", zero, "z.csv is a device", words)
    for name, (content, said) in {
        "hdf5 fill": (fill(10**12), "claims"),
        "hdf5 sets": (fill(11_000_000, 100), "claims"),
        "hdf5 packed": (packed, "claims"),
        "hdf5 nested": (nested, ""),
        "hdf5 external": (external, "other file"),
        "hdf5 strings": (strings, ""),
        "hdf5 attribute": (attribute, ""),
    }.items():
        for words in (IMPORT, IDENTIFY):
            verb = words.partition(" ")[0]
            yield imported(f"{name} {verb}", "a.h5", hdf5("a.h5", content), said, words)
    yield imported("bag view", "bag", ENDLESS_BAG)
    yield imported("bag file view", "bag/a.db3", ENDLESS_BAG)
    yield imported("bag computed", "bag", COMPUTED_BAG, "'messages' is computed")
    yield imported("bag elsewhere", "bag", bag_elsewhere)
    yield imported("bag YAML", "bag", YAML_BAG)
    yield imported("bag pipe", "bag", pipe("bag/a.db3"))
    yield imported(
        "bag compressed", "a.bag", text("a.bag", b"#ROSBAG V2.0\n" + bz2.compress(b"0" * 10**6))
    )
    estimate = "compare e.json e.json"
    for name, content in {
        "deep": "[" * 100_000,
        "deep tables": '{"a":' * 100_000,
        "digits": '{"a": ' + "9" * 1_000_000 + "}",
        "large": " " * 40_000_000,
        "schema": '{"schema": ' + "[" * 500 + "]" * 500 + "}",
    }.items():
        yield HostileFile(f"estimate {name}", estimate, text("e.json", content), "e.json")
        words = "simulate arm.urdf --trajectory t.json -o new.h5"
        yield HostileFile(f"trajectory {name}", words, text("t.json", content), "t.json")
    yield HostileFile("estimate pipe", estimate, pipe("e.json"), "e.json is a device")


ARRAYS = tuple(_arrays())
