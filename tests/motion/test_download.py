"""Downloads from a server on this machine: hashes, resumption, what servers get wrong."""

import hashlib
import http.server
import threading

import pytest
from writers import standing, write_bvh

from anima import BadInput
from anima.motion import commands, download
from anima.motion.download import fetch, fetch_file
from anima.motion.library import Library
from anima.motion.manifest import Fact

FILES = {f"data/{name}.bvh": write_bvh(standing(40 + k)).encode() for k, name in enumerate("ab")}


class Handler(http.server.BaseHTTPRequestHandler):
    asked: list[tuple[str, str | None]] = []

    def do_GET(self):
        content = FILES.get(self.path.lstrip("/"))
        begin = self.headers.get("Range")
        Handler.asked.append((self.path, begin))
        if content is None:
            self.send_error(404)
            return
        start = int(begin[6:-1]) if begin else 0
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Handler.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def fact(path, sha256=None, **more):
    name = path.removeprefix("data/").removesuffix(".bvh")
    return Fact(name, path=path, sha256=sha256 or hashlib.sha256(FILES.get(path, b"")).hexdigest(), **more)


def test_files_come_whole_and_only_once(server, tmp_path):
    facts = [fact(path) for path in FILES]
    paths = fetch(facts, server, tmp_path)
    assert [path.read_bytes() for path in paths] == list(FILES.values())
    assert len(Handler.asked) == 2
    fetch(facts, server + "/", tmp_path)
    assert len(Handler.asked) == 2


def test_a_part_is_gone_on_with(server, tmp_path):
    content = FILES["data/a.bvh"]
    (tmp_path / "a.bvh.part").write_bytes(content[:100])
    fetch([fact("data/a.bvh")], server, tmp_path)
    assert (tmp_path / "a.bvh").read_bytes() == content
    assert Handler.asked == [("/data/a.bvh", "bytes=100-")]
    (tmp_path / "a.bvh").rename(tmp_path / "a.bvh.part")  # a complete part: the server has no more
    fetch([fact("data/a.bvh")], server, tmp_path)
    assert (tmp_path / "a.bvh").read_bytes() == content


def test_what_servers_get_wrong(server, tmp_path, monkeypatch):
    with pytest.raises(BadInput, match=r"SHA-256 is .* not the file that was meant"):
        fetch_file(f"{server}/data/a.bvh", tmp_path / "x.bvh", "0" * 64)
    assert not list(tmp_path.iterdir())
    wanted = [fact("data/a.bvh"), fact("data/gone.bvh")]
    with pytest.raises(BadInput, match=r"1 of 2 files could not be fetched .*404"):
        fetch(wanted, server, tmp_path)
    assert (tmp_path / "a.bvh").exists()  # the good one is there all the same
    with pytest.raises(BadInput, match="must begin with http"):
        fetch(wanted, "file:///etc", tmp_path)
    monkeypatch.setattr(download, "MAX_BYTES", 1000)
    with pytest.raises(BadInput, match="more than 1,000 bytes"):
        fetch_file(f"{server}/data/b.bvh", tmp_path / "b.bvh", "0" * 64)


def test_one_command_makes_the_library(server, tmp_path, monkeypatch, capsys):
    facts = {f.id: f for f in (fact("data/a.bvh", split="test", captured_fps=30), fact("data/b.bvh"))}
    monkeypatch.setattr(commands, "load_manifest", lambda source: facts)
    commands.download("cmu", tmp_path / "cmu", server, tmp_path / "l.h5")
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 clips, 3 s in ")
    assert Library.open(tmp_path / "l.h5", "test").names == ["a"]
