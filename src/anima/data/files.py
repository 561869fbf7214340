"""Files that survive a crash and show damage: written beside and renamed, known by their SHA-256."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from anima.errors import BadInput
from anima.rotation import Array

MANIFEST = "manifest.json"  # written last: a folder without it is not whole


def write_durably(path: Path, content: bytes) -> None:
    """Write beside, flush to the disk, rename: a reader never sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, value: Any) -> None:
    write_durably(path, json.dumps(value, indent=1).encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}") from None


def write_arrays(path: Path, arrays: dict[str, Array]) -> None:
    write_durably(path, safetensors.numpy.save({k: np.asarray(v, order="C") for k, v in arrays.items()}))


def read_arrays(path: Path) -> dict[str, Array]:
    try:
        return safetensors.numpy.load_file(path)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (OSError, safetensors.SafetensorError) as error:
        raise BadInput(f"{path} cannot be read as safetensors: {error}") from None


def write_chunk(folder: Path, parts: dict[str, Array]) -> str:
    """Arrays in a file named by its content; one that is there already is left alone."""
    content = safetensors.numpy.save({k: np.asarray(v, order="C") for k, v in parts.items()})
    name = f"{hashlib.sha256(content).hexdigest()}.safetensors"
    if not (folder / name).exists():
        write_durably(folder / name, content)
    return name


def map_chunk(path: Path) -> dict[str, Array]:
    """A chunk's arrays, read from the disk only where they are looked at; not checked for damage."""
    kinds = {"F32": np.float32, "BOOL": np.bool_, "I32": np.int32}
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    return {
        name: np.memmap(path, kinds[x["dtype"]], "r", 8 + size + x["data_offsets"][0], tuple(x["shape"]))
        for name, x in header.items()
        if 0 not in x["shape"]
    }


def seal(folder: Path, elsewhere: Iterable[str] = ()) -> None:
    """List what is in a folder, and files named by content elsewhere that belong to it: now it is whole."""
    files = {f.name: digest(f) for f in sorted(folder.iterdir()) if f.name != MANIFEST}
    write_json(folder / MANIFEST, {"sha256": files, "elsewhere": sorted(elsewhere)})


def verify(folder: Path, elsewhere: Path | None = None) -> None:
    """An error that names the fault, unless every file is as it was when the folder was sealed."""
    listed = read_json(folder / MANIFEST)
    if not isinstance(listed, dict) or not isinstance(listed.get("sha256"), dict):
        raise BadInput(f"{folder / MANIFEST} is not a manifest")
    expected = {folder / name: value for name, value in listed["sha256"].items()}
    if elsewhere is not None:
        expected |= {elsewhere / name: name.partition(".")[0] for name in listed["elsewhere"]}
    for path, value in expected.items():
        if not path.is_file():
            raise BadInput(f"{path} is missing")
        if digest(path) != value:
            raise BadInput(f"{path} is damaged: its content is not what was saved")


def digest(path: Path) -> str:
    """SHA-256 of a file"""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
