"""Fetch the clips of a manifest from a public repository, file by file, checked and resumable."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import track

from anima.errors import BadInput
from anima.motion.manifest import Fact

CMU_URL = "https://raw.githubusercontent.com/una-dinosauria/cmu-mocap/master"
MAX_BYTES = 128 * 2**20  # a file
BLOCK = 2**16
TIMEOUT = 30.0  # seconds without an answer
CONNECTIONS = 4


def fetch(facts: Iterable[Fact], base: str, folder: Path) -> list[Path]:
    """The files of a manifest in `folder`; whole ones that are there already are not fetched again."""
    if not base.startswith(("http://", "https://")):
        raise BadInput(f"cannot download from {base!r}: the address must begin with http:// or https://")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(facts)
    failed = []

    def one(fact: Fact) -> str | None:
        try:
            fetch_file(
                f"{base.rstrip('/')}/{fact.path}", folder / f"{fact.id}{Path(fact.path).suffix}", fact.sha256
            )
        except (BadInput, OSError, http.client.HTTPException) as error:
            return f"{fact.id}: {error}"
        return None

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        results = pool.map(one, wanted)
        for problem in track(
            results, "downloading", len(wanted), console=Console(stderr=True), transient=True
        ):
            failed += [problem] if problem else []
    if failed:
        shown = "; ".join(failed[:3])
        raise BadInput(
            f"{len(failed)} of {len(wanted)} files could not be fetched ({shown}): run the command again"
        )
    return [folder / f"{fact.id}{Path(fact.path).suffix}" for fact in wanted]


def fetch_file(url: str, path: Path, sha256: str) -> None:
    """One file whose hash is known; a part left by a broken connection is gone on with."""
    if path.exists() and _hash(path) == sha256:
        return
    part = path.with_name(path.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            going_on = answer.status == 206
            _copy(answer, part, url, have if going_on else 0)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: the part is complete already
            raise BadInput(f"{url}: the server answered {error.code} {error.reason}") from error
    if (found := _hash(part)) != sha256:
        part.unlink()
        raise BadInput(f"{url}: SHA-256 is {found[:16]}…, not {sha256[:16]}…: not the file that was meant")
    part.replace(path)


def _copy(answer: http.client.HTTPResponse, part: Path, url: str, have: int) -> None:
    with part.open("ab" if have else "wb") as file:
        while block := answer.read(BLOCK):
            have += len(block)
            if have > MAX_BYTES:
                raise BadInput(f"{url}: more than {MAX_BYTES:,} bytes")
            file.write(block)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
