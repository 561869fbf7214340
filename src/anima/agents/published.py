"""Models in the layout that Meta Motivo publishes: config.json and model.safetensors in a folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from anima.agents.agent import agent_from, load_weights
from anima.agents.fb import FB
from anima.agents.fbcpr import FBCPR
from anima.errors import BadInput

# Ours, theirs: prefixes of tensor names. Below them both count the layers of the same sequences.
NAMES = {
    "measure.forward_map.context": "_forward_map.embed_z",
    "measure.forward_map.state": "_forward_map.embed_sa",
    "measure.forward_map.head": "_forward_map.Fs",
    "measure.backward_map.net": "_backward_map.net",
    "policy.actor.context": "_actor.embed_z",
    "policy.actor.state": "_actor.embed_s",
    "policy.actor.head": "_actor.policy",
    "critic.network.context": "_critic.embed_z",
    "critic.network.state": "_critic.embed_sa",
    "critic.network.head": "_critic.Fs",
    "style.trunk": "_discriminator.trunk",
    "measure.slow.forward_map.context": "_target_forward_map.embed_z",
    "measure.slow.forward_map.state": "_target_forward_map.embed_sa",
    "measure.slow.forward_map.head": "_target_forward_map.Fs",
    "measure.slow.backward_map.net": "_target_backward_map.net",
    "critic.slow.network.context": "_target_critic.embed_z",
    "critic.slow.network.state": "_target_critic.embed_sa",
    "critic.slow.network.head": "_target_critic.Fs",
    "normalize.mean": "_obs_normalizer.running_mean",
    "normalize.variance": "_obs_normalizer.running_var",
    "normalize.batches": "_obs_normalizer.num_batches_tracked",
}

ENSEMBLE = {
    "hidden_dim": 1024,
    "model": "simple",
    "hidden_layers": 1,
    "embedding_layers": 2,
    "num_parallel": 2,
    "ensemble_mode": "batch",
}
ARCHITECTURE: dict[str, Any] = {  # with the values a file may leave out
    "z_dim": 100,
    "norm_z": True,
    "f": ENSEMBLE,
    "b": {"hidden_dim": 256, "hidden_layers": 2, "norm": True},
    "actor": {"hidden_dim": 1024, "model": "simple", "hidden_layers": 1, "embedding_layers": 2},
    "critic": ENSEMBLE,
    "discriminator": {"hidden_dim": 1024, "hidden_layers": 2},
}
MODEL: dict[str, Any] = {
    "obs_dim": -1,
    "action_dim": -1,
    "device": "cpu",
    "archi": ARCHITECTURE,
    "inference_batch_size": 500_000,
    "seq_length": 1,
    "actor_std": 0.2,
    "norm_obs": True,
}


def load_published(folder: Path | str) -> FB:
    """The FB or FB-CPR agent of a published folder, ready to act and to be prompted.

    Slow copies are taken where the folder has them, and otherwise start equal to their networks.
    """
    path = Path(folder) / "model.safetensors"
    config = _read_json(Path(folder) / "config.json")
    try:
        theirs = load_file(path)
    except (OSError, SafetensorError) as error:
        raise BadInput(f"{path} cannot be read as safetensors ({error}): the folder needs one") from error
    agent = agent_from(settings_of(config, with_style=any(name.startswith("_critic") for name in theirs)))
    assert isinstance(agent, FB)
    ours = {their: our for our, their in NAMES.items()}
    given = {_translated(name, ours): tensor for name, tensor in theirs.items()}
    weights = {}
    for name, tensor in agent.state_dict().items():
        if name.startswith("ring."):
            weights[name] = tensor
        elif ".slow." in name:
            weights[name] = given.get(name.replace(".slow.", "."), tensor)
    try:
        load_weights(agent, {**weights, **given})
    except BadInput as error:
        raise BadInput(f"{path}: {_their_words(str(error))}") from error
    return agent


def save_published(agent: FB, folder: Path | str, slow: bool = False) -> None:
    """Write an agent for programs that read the published layout; `slow` adds the slow copies."""
    if isinstance(agent, FBCPR) and not agent.config.conditional:
        raise BadInput(
            "the published layout has no discriminator without a latent: FB-MPR cannot be written so"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept = agent.essentials()
    if isinstance(agent, FBCPR):  # the layout knows no scale of latents: the first layer takes it over
        first = kept["style.trunk.0.weight"].clone()
        first[:, : agent.config.latent] *= agent.config.style.latent_scale
        kept["style.trunk.0.weight"] = first
    if slow:  # of an actor there is none
        copies = {name for name in agent.state_dict() if ".slow." in name and not name.startswith("policy.")}
        kept |= {name: x for name, x in agent.state_dict().items() if name in copies}
    tensors = {_translated(name, NAMES): tensor.detach().contiguous() for name, tensor in kept.items()}
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(published_config(agent), indent=4))


def settings_of(published: Any, with_style: bool = False) -> dict[str, Any]:
    """What `agent_from` takes, from a published model's configuration; FB-CPR's if it has a critic."""
    c = _completed(published, MODEL, "config.json")
    with_style = with_style or not {"critic", "discriminator"}.isdisjoint(published.get("archi", {}))
    for field in ("obs_dim", "action_dim", "seq_length"):
        if type(c[field]) is not int or c[field] < 1:
            raise BadInput(f"config.json: {field} must be given as a positive whole number, not {c[field]!r}")
    a = c["archi"]
    config: dict[str, Any] = {
        "latent": a["z_dim"],
        "on_sphere": bool(a["norm_z"]),
        "segment": c["seq_length"],
        "batch": -(-max(1024, a["z_dim"]) // c["seq_length"]) * c["seq_length"],  # a multiple, as published
        "normalize_obs": bool(c["norm_obs"]),
        "measure": {
            "forward": _network(a["f"], "f"),
            "backward": {
                "hidden": a["b"]["hidden_dim"],
                "hidden_layers": a["b"]["hidden_layers"],
                "on_sphere": bool(a["b"]["norm"]),
            },
        },
        "policy": {"network": _network(a["actor"], "actor"), "std": c["actor_std"]},
    }
    if with_style:
        config["critic"] = {"network": _network(a["critic"], "critic")}
        d = a["discriminator"]
        config["style"] = {"hidden": d["hidden_dim"], "hidden_layers": d["hidden_layers"]}
    space = {"obs": c["obs_dim"], "action": c["action_dim"], "parts": {}}
    return {"agent": "fbcpr" if with_style else "fb", "space": space, "config": config}


def published_config(agent: FB) -> dict[str, Any]:
    """The published description of an agent's networks."""
    c = agent.config
    b = c.measure.backward
    archi: dict[str, Any] = {
        "z_dim": c.latent,
        "norm_z": c.on_sphere,
        "f": _described(c.measure.forward),
        "b": {"hidden_dim": b.hidden, "hidden_layers": b.hidden_layers, "norm": b.on_sphere},
        "actor": {k: v for k, v in _described(c.policy.network).items() if k in ARCHITECTURE["actor"]},
    }
    if isinstance(agent, FBCPR):
        archi["critic"] = _described(c.critic.network)
        archi["discriminator"] = {"hidden_dim": c.style.hidden, "hidden_layers": c.style.hidden_layers}
    given = {
        "obs_dim": agent.space.obs,
        "action_dim": agent.space.action,
        "archi": archi,
        "seq_length": c.segment,
        "actor_std": c.policy.std,
        "norm_obs": c.normalize_obs,
    }
    return MODEL | given


def _network(theirs: Mapping[str, Any], where: str) -> dict[str, Any]:
    if theirs["model"] not in ("simple", "residual"):
        raise BadInput(f"config.json: archi.{where}.model is {theirs['model']!r}, not 'simple' or 'residual'")
    if theirs.get("ensemble_mode", "batch") != "batch":
        raise BadInput(
            f"config.json: archi.{where}.ensemble_mode is {theirs['ensemble_mode']!r}; only 'batch' is read"
        )
    return {
        "hidden": theirs["hidden_dim"],
        "hidden_layers": theirs["hidden_layers"],
        "embedding_layers": theirs["embedding_layers"],
        "residual": theirs["model"] == "residual",
        "members": theirs.get("num_parallel", 1),
    }


def _described(ours: Any) -> dict[str, Any]:
    return {
        "hidden_dim": ours.hidden,
        "model": "residual" if ours.residual else "simple",
        "hidden_layers": ours.hidden_layers,
        "embedding_layers": ours.embedding_layers,
        "num_parallel": ours.members,
        "ensemble_mode": "batch",
    }


def _completed(values: Any, known: Mapping[str, Any], where: str) -> dict[str, Any]:
    """`values` with what they leave out; unknown keys are errors."""
    if not isinstance(values, Mapping):
        raise BadInput(f"{where}: expected an object, not {values!r}")
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise BadInput(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(known)}")
    filled = {**known, **values}
    return {
        k: _completed(v, known[k], f"{where}: {k}") if isinstance(known[k], dict) else v
        for k, v in filled.items()
    }


def _translated(name: str, table: Mapping[str, str]) -> str:
    for start, other in table.items():
        if name == start or name.startswith(start + "."):
            return other + name.removeprefix(start)
    return name


def _their_words(message: str) -> str:
    return "'".join(_translated(part, NAMES) for part in message.split("'"))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read as JSON ({error}): a published model has one") from error
