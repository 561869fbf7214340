"""Models in the published layout: read, compared with recorded outputs, written, and refused when broken."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from anima.agents import make_agent
from anima.agents.fbcpr import FBCPR
from anima.agents.published import load_published, published_config, save_published, settings_of
from anima.errors import BadInput
from anima.networks.two_stream import perturb
from anima.sim.space import Space

TINY = {"hidden": 8, "hidden_layers": 1}
CONFIG = {
    "latent": 4,
    "batch": 8,
    "measure": {"forward": TINY, "backward": {"hidden": 8}},
    "policy": {"network": TINY},
    "critic": {"network": TINY},
    "style": {"hidden": 8},
}


@pytest.fixture()
def tiny() -> Any:
    return make_agent("fbcpr", Space(5, 2), CONFIG, seed=1)


@pytest.fixture()
def folder(tiny: FBCPR, tmp_path: Path) -> Path:
    save_published(tiny, tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ["simple", "residual"])
def test_outputs_equal_the_recorded_ones(shared: Path, kind: str) -> None:
    agent: Any = load_published(shared / "golden" / f"d_model_{kind}")
    with np.load(shared / "golden" / f"d_io_{kind}.npz") as file:
        io = dict(file)
    obs, z, action = (torch.tensor(io[k]) for k in ("observation", "z", "action"))
    states = agent.normalize(obs)
    mean = agent.policy.mean(states, z)
    noise = torch.tensor(io["sample_noise_clip0.3"])
    states_, rewards = io["inf_next_observation"], io["inf_reward"]

    def close(value: Any, name: str) -> None:
        value = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        np.testing.assert_allclose(value, io[name], atol=5e-6, rtol=5e-6, err_msg=name)

    close(states, "normalized_observation")
    close(agent.act(io["observation"], io["z"]), "mean_action")
    close(agent.measure.forward_map(states, z, action), "F")
    close(agent.embed(states), "B")
    close(agent.critic.network(states, z, action), "Q")
    close(agent.style.logit(states, z)[:, None], "disc_logit")
    close(agent.style.logit(states, z).sigmoid()[:, None], "disc_prob")
    close(agent.style.reward(states, z)[:, None], "disc_reward")
    close(agent.project(torch.tensor(io["project_in"])), "project_out")
    close(perturb(mean, torch.tensor(io["sample_noise"]), 0.2), "sampled_action")
    close(agent.policy.perturb(mean, noise), "sampled_action_clip0.3")
    close(agent.prompt_reward(states_, rewards, "none"), "z_reward")
    close(agent.prompt_reward(states_, rewards, io["inf_weight"]), "z_reward_weighted")
    close(agent.prompt_reward(states_, rewards), "z_reward_wr")
    close(agent.prompt_goal(states_[:6]), "z_goal")
    close(agent.prompt_motion(io["track_next_observation"]), "z_tracking")
    agent.config = type(agent.config)(**{**vars(agent.config), "segment": 1, "on_sphere": False})
    close(agent.prompt_reward(states_, rewards, "none"), "z_reward_no_norm")
    agent.config = type(agent.config)(**{**vars(agent.config), "on_sphere": True})
    close(agent.prompt_motion(io["track_next_observation"]), "z_tracking_L1")


def test_a_scale_of_latents_is_written_into_the_first_layer(tmp_path: Path) -> None:
    agent: Any = make_agent("fbcpr", Space(5, 2), CONFIG | {"style": {"hidden": 8, "latent_scale": 0.1}})
    save_published(agent, tmp_path)
    back: Any = load_published(tmp_path)
    obs, z = torch.randn(6, 5), torch.randn(6, 4)
    torch.testing.assert_close(back.style.logit(obs, z), agent.style.logit(obs, z))
    assert back.config.style.latent_scale == 1.0


@pytest.mark.parametrize("kind", ["simple", "residual"])
def test_a_published_model_is_written_as_it_was_read(shared: Path, tmp_path: Path, kind: str) -> None:
    source = shared / "golden" / f"d_model_{kind}"
    save_published(load_published(source), tmp_path)
    theirs, ours = (load_file(path / "model.safetensors") for path in (source, tmp_path))
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(theirs[name], ours[name]) for name in theirs)
    assert json.loads((tmp_path / "config.json").read_text()) == json.loads(
        (source / "config.json").read_text()
    )


def test_targets_are_read_where_a_folder_has_them(shared: Path) -> None:
    source = shared / "golden" / "e_fbcpr_residual_recorded_clip" / "before" / "model"
    agent: Any = load_published(source)
    tensors = load_file(source / "model.safetensors")
    expected = tensors["_target_critic.embed_z.0.mlp.1.weight"]
    assert torch.equal(agent.critic.slow["network"].context[0].mlp[1].weight, expected)


def test_tensors_are_named_as_published(folder: Path) -> None:
    """O 5, A 2, d 4, h 8, two members: linear (m, in, out), one hidden layer, B and D with 1 and 3."""
    shapes = {name: list(tensor.shape) for name, tensor in load_file(folder / "model.safetensors").items()}
    assert shapes["_forward_map.embed_sa.0.weight"] == [2, 7, 8]
    assert shapes["_forward_map.embed_z.3.bias"] == [2, 1, 4]
    assert shapes["_forward_map.Fs.2.weight"] == [2, 8, 4]
    assert shapes["_critic.Fs.2.weight"] == [2, 8, 1]
    assert shapes["_actor.embed_s.0.weight"] == [8, 5]
    assert shapes["_actor.policy.2.weight"] == [2, 8]
    assert shapes["_backward_map.net.3.weight"] == [4, 8]
    assert shapes["_discriminator.trunk.7.weight"] == [1, 8]
    assert shapes["_obs_normalizer.num_batches_tracked"] == []
    assert not any(name.startswith("_target") for name in shapes)


def test_an_exported_model_acts_alike(tiny: FBCPR, folder: Path) -> None:
    tiny.normalize.learn(torch.randn(20, 5) * 3)
    save_published(tiny, folder, slow=True)
    again = load_published(folder)
    obs, z = np.ones((3, 5)), np.eye(3, 4)
    np.testing.assert_array_equal(again.act(obs, z), tiny.act(obs, z))
    assert published_config(again) == published_config(tiny)


def test_an_fb_model_has_no_critic(tmp_path: Path) -> None:
    config = {k: v for k, v in CONFIG.items() if k not in ("critic", "style")} | {"normalize_obs": False}
    agent: Any = make_agent("fb", Space(5, 2), config)
    save_published(agent, tmp_path)
    again = load_published(tmp_path)
    assert again.name == "fb"
    assert not any(
        "critic" in name or "normalizer" in name for name in load_file(tmp_path / "model.safetensors")
    )
    np.testing.assert_array_equal(again.prompt_goal(np.ones(5)), agent.prompt_goal(np.ones(5)))


def test_left_out_fields_take_the_published_defaults() -> None:
    settings = settings_of({"obs_dim": 5, "action_dim": 2, "norm_obs": 0, "archi": {"critic": {}}})
    assert settings["agent"] == "fbcpr"
    assert settings["config"]["latent"] == 100
    assert settings["config"]["normalize_obs"] is False
    assert settings["config"]["critic"]["network"]["hidden"] == 1024
    assert settings["config"]["style"]["hidden_layers"] == 2


def test_fb_and_fbcpr_are_told_apart_by_their_tensors(folder: Path) -> None:
    """A hub model's config.json holds only what its constructor was told."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["archi"]["critic"], config["archi"]["discriminator"]
    path.write_text(json.dumps(config))
    with pytest.raises(
        BadInput, match=r"'_critic.embed_z.0.weight' has shape \(2, 9, 8\), not \(2, 9, 1024\)"
    ):
        load_published(folder)


def rewritten(folder: Path, **changes: Any) -> None:
    tensors = load_file(folder / "model.safetensors")
    for name, value in changes.items():
        tensors.pop(name) if value is None else tensors.update({name: value})
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"_actor.policy.2.bias": None}, "'_actor.policy.2.bias' is missing"),
        ({"_actor.policy.2.bias": torch.zeros(3)}, r"'_actor.policy.2.bias' has shape \(3,\), not \(2,\)"),
        ({"_actor.extra": torch.zeros(3)}, "unknown tensor '_actor.extra'"),
    ],
)
def test_a_wrong_tensor_is_named(folder: Path, changes: dict[str, Any], message: str) -> None:
    rewritten(folder, **changes)
    with pytest.raises(BadInput, match=message):
        load_published(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"obs_size": 3}, "unknown key 'obs_size'"),
        ({"obs_dim": -1}, "obs_dim must be given as a positive whole number, not -1"),
        ({"archi": {"f": {"model": "deep"}}}, "'deep', not 'simple' or 'residual'"),
        ({"archi": {"f": {"ensemble_mode": "seq"}}}, "'seq'; only 'batch'"),
        ({"archi": 3}, "expected an object, not 3"),
    ],
)
def test_a_wrong_configuration_is_named(folder: Path, change: dict[str, Any], message: str) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BadInput, match=message):
        load_published(folder)


def test_missing_and_damaged_files_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"config.json cannot be read"):
        load_published(tmp_path / "nowhere")
    (folder / "model.safetensors").write_bytes(b"not safetensors")
    with pytest.raises(BadInput, match=r"cannot be read as safetensors"):
        load_published(folder)


def test_a_discriminator_without_latent_has_no_published_form(tmp_path: Path) -> None:
    agent: Any = make_agent("fbmpr", Space(5, 2), CONFIG)
    with pytest.raises(BadInput, match="FB-MPR cannot be written"):
        save_published(agent, tmp_path)
