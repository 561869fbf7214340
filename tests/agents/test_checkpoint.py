"""Agents on disk: saved equals loaded, damage is refused, `anima.load` finds what holds an agent."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anima
from anima.agents import agent_names, make_agent
from anima.agents.checkpoint import load, save
from anima.cli import main
from anima.data.batch import Segments, Transitions
from anima.errors import BadInput
from anima.sim.space import Space

SPACE = Space(5, 2, {"pose": slice(0, 3)})
SMALL = {
    "latent": 4,
    "batch": 8,
    "segment": 2,
    "measure": {"forward": {"hidden": 8}, "backward": {"hidden": 8}},
    "policy": {"network": {"hidden": 8}},
}
SINGLE = ("td3", "rnd", "experts")
EXTRAS = {"z": (4,), "next_z": (4,), "distance": (1,), "future": (16, 5), "reward": (1,)}


def trained(name: str = "fbcpr") -> Any:
    style = {"critic": {"network": {"hidden": 8}}, "style": {"hidden": 8}}
    cpr = name in ("fbcpr", "fbmpr", "fbcpr_style_only")
    sizes = SMALL | (style if cpr else {})
    if name in SINGLE:
        sizes = {"batch": 8, "policy": SMALL["policy"], "critic": style["critic"]}
        sizes |= {"told": 4} if name == "experts" else {}
    agent = make_agent(name, SPACE, sizes, seed=1)
    g = torch.Generator().manual_seed(0)
    online = Transitions(
        *(torch.randn(8, n, generator=g) for n in (5, 2, 5)),
        torch.zeros(8, dtype=torch.bool),
        torch.ones(8, 4),
        {k: torch.ones(8, *n) for k, n in EXTRAS.items()},
    )
    clips = Segments(
        torch.randn(4, 2, 5, generator=g), torch.randn(4, 2, 5, generator=g), torch.zeros(4, 2, 2)
    )
    agent.update(*((online,) if name in ("fb", "fb_awac", *SINGLE) else (online, clips)))
    return agent


@pytest.mark.parametrize("name", agent_names())
def test_saved_equals_loaded(name: str, tmp_path: Path) -> None:
    agent = trained(name)
    save(agent, tmp_path / "agent")
    again = load(tmp_path / "agent")
    one, two = agent.state(), again.state()
    assert again.settings() == agent.settings()
    assert set(one) == set(two)
    assert all(torch.equal(one[key], two[key]) and one[key].dtype == two[key].dtype for key in one)


@pytest.mark.parametrize("file", ["agent.json", "agent.safetensors", "manifest.json"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "delete", "pickle"])
def test_damage_is_refused(file: str, harm: str, tmp_path: Path) -> None:
    save(trained(), tmp_path / "agent")
    path = tmp_path / "agent" / file
    content = bytearray(path.read_bytes())
    if harm == "flip":
        content[len(content) // 2] ^= 4
    elif harm == "truncate":
        content = content[: len(content) // 2]
    elif harm == "pickle":
        content = bytearray(b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR.")
    path.write_bytes(content)
    if harm == "delete":
        path.unlink()
    with pytest.raises(BadInput, match=str(tmp_path)):
        load(tmp_path / "agent")
    assert not Path("pwned").exists()


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    from anima.data.files import seal

    save(trained(), tmp_path / "agent")
    path = tmp_path / "agent" / "agent.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    seal(tmp_path / "agent")
    with pytest.raises(BadInput, match="has format 2; this version reads 1"):
        load(tmp_path / "agent")


def test_what_holds_no_agent_is_told(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"\x80\x04.")
    (tmp_path / "empty").mkdir()
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    for path, fault in (
        (tmp_path / "weights.pt", "is a file"),
        (tmp_path / "empty", "holds no agent"),
        (tmp_path / "run", "no whole checkpoint"),
        ("no-such-model", "shipped models: humanoid-mini"),
    ):
        with pytest.raises(BadInput, match=fault):
            anima.load(path)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    save(trained(), tmp_path / "agent")
    with pytest.raises(BadInput, match="not empty"):
        save(trained(), tmp_path / "agent")


def test_conversion_there_and_back(tmp_path: Path, capsys: Any) -> None:
    agent = trained()
    save(agent, tmp_path / "ours")
    main(["convert", str(tmp_path / "ours"), str(tmp_path / "theirs")])
    assert sorted(f.name for f in (tmp_path / "theirs").iterdir()) == ["config.json", "model.safetensors"]
    main(["convert", str(tmp_path / "theirs"), str(tmp_path / "back"), "--to", "anima"])
    back: Any = anima.load(tmp_path / "back")
    obs = np.random.default_rng(0).normal(size=(6, 5))
    z = agent.prompt_goal(obs)
    assert np.array_equal(back.prompt_goal(obs), z)
    assert np.array_equal(back.act(obs, z), agent.act(obs, z))
    with pytest.raises(SystemExit):
        main(["convert", str(tmp_path / "ours"), str(tmp_path / "theirs")])
    assert "not empty" in capsys.readouterr().err
