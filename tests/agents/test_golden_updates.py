"""One update of FB and FB-CPR against the published implementation, random numbers replayed."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import Tensor

from anima.agents import make_agent
from anima.agents.published import NAMES, settings_of
from anima.data.batch import Segments, Transitions
from anima.sim.space import Space

METRICS = {  # published name: ours
    "disc_loss": "style/loss",
    "disc_expert_loss": "style/expert",
    "disc_train_loss": "style/agent",
    "disc_wgan_gp_loss": "style/penalty",
    "target_M": "measure/next_measure",
    "M1": "measure/measure",
    "F1": "measure/forward",
    "B": "measure/backward",
    "B_norm": "measure/backward_norm",
    "z_norm": "measure/z_norm",
    "fb_loss": "measure/loss",
    "fb_diag": "measure/diagonal",
    "fb_offdiag": "measure/offdiagonal",
    "orth_loss": "measure/orthonormality",
    "orth_loss_diag": "measure/orthonormality_diagonal",
    "orth_loss_offdiag": "measure/orthonormality_offdiagonal",
    "q_loss": "measure/value_loss",
    "target_Q": "critic/target",
    "Q1": "critic/value",
    "mean_next_Q": "critic/next_value",
    "unc_Q": "critic/disagreement",
    "critic_loss": "critic/loss",
    "mean_disc_reward": "critic/reward",
    "actor_loss": "policy/loss",
    "q": "policy/task",
    "Q_fb": "policy/task",
    "Q_discriminator": "policy/style",
}


class Recorded:
    """Gives back recorded random numbers, by kind and in order."""

    device = "cpu"

    def __init__(self, draws: dict[str, np.ndarray]) -> None:
        self.left = dict(draws)
        self.used: dict[str, int] = defaultdict(int)

    def __getattr__(self, kind: str) -> Any:
        def draw(*args: Any) -> Tensor:
            value = self.left.pop(f"draw_{kind}_{self.used[kind]}")
            self.used[kind] += 1
            return torch.from_numpy(value)

        return draw


def agent_of(config: dict[str, Any]) -> Any:
    """A fresh agent with a published training configuration."""
    settings, t = settings_of(config["model"]), config["train"]
    c = settings["config"]
    c |= {"batch": t["batch_size"], "discount": t["discount"], "goal_share": t["train_goal_ratio"]}
    decay = {"weight_decay": t["weight_decay"]}
    c["measure"] |= decay | {
        "forward_rate": t["lr_f"],
        "backward_rate": t["lr_b"],
        "slow_rate": t["fb_target_tau"],
        "orthonormality": t["ortho_coef"],
        "value_weight": t["q_loss_coef"],
        "pessimism": t["fb_pessimism_penalty"],
        "grad_clip": t["clip_grad_norm"],
    }
    c["policy"] |= decay | {
        "rate": t["lr_actor"],
        "noise_clip": t["stddev_clip"],
        "pessimism": t["actor_pessimism_penalty"],
        "grad_clip": t["clip_grad_norm"],
    }
    if settings["agent"] == "fbcpr":
        c |= {
            "expert_share": t["expert_asm_ratio"],
            "relabel": t["relabel_ratio"] or 0.0,
            "style_weight": t["reg_coeff"],
            "scale_style": t["scale_reg"],
        }
        c["critic"] |= decay | {
            "rate": t["lr_critic"],
            "slow_rate": t["critic_target_tau"],
            "pessimism": t["critic_pessimism_penalty"],
        }
        c["style"] |= {
            "rate": t["lr_discriminator"],
            "penalty_weight": t["grad_penalty_discriminator"],
            "weight_decay": t["weight_decay_discriminator"],
        }
    space = settings["space"]
    return make_agent(settings["agent"], Space(space["obs"], space["action"]), c)


def theirs(name: str) -> str:
    ours = next(start for start in NAMES if name == start or name.startswith(start + "."))
    return NAMES[ours] + name.removeprefix(ours)


def check(config: Any, before: Any, batch: Any, grads: Any, after: Any, result: Any) -> None:
    agent = agent_of(config)
    weights = {name: torch.tensor(before[theirs(name)]) for name in agent.state_dict() if "ring" not in name}
    agent.load_state_dict(weights, strict=False)
    agent.draws = recorded = Recorded({k: v for k, v in batch.items() if k.startswith("draw_")})
    t = {k: torch.tensor(v) for k, v in batch.items() if not k.startswith("draw_")}
    online = Transitions(
        t["train_observation"],
        t["train_action"],
        t["train_next_observation"],
        t["train_next_terminated"][:, 0],
        t["train_z"],
    )
    length = agent.config.segment
    segments = [t[k].unflatten(0, (-1, length)) for k in ("expert_observation", "expert_next_observation")]
    metrics = agent.update(online, Segments(*segments)) if hasattr(agent, "style") else agent.update(online)

    assert not recorded.left, "every recorded number is asked for"
    np.testing.assert_allclose(agent.ring.rows[:24], batch["z_buffer"], atol=2e-6)
    for name, value in result["metrics"].items():
        if METRICS[name] in metrics:
            assert metrics[METRICS[name]].item() == pytest.approx(value, rel=1e-5), name
        else:
            assert name == "q_loss" and value == 0
    for name, parameter in agent.named_parameters():
        if ".slow." not in name:
            expected = grads[theirs(name)]
            np.testing.assert_allclose(
                parameter.grad, expected, atol=2e-5 * np.abs(expected).max(), err_msg=name
            )
    for name in weights:
        np.testing.assert_allclose(agent.state_dict()[name], after[theirs(name)], atol=2e-5, err_msg=name)


@pytest.mark.parametrize("case", ["fb_simple_recorded", "fbcpr_simple_recorded_relabel"])
def test_an_update_equals_the_published_one(golden: Path, case: str) -> None:
    """From the committed extract, which keeps changes of weights in half precision: 3e-6 at most."""
    with np.load(golden / f"update_{case}.npz") as file:
        data = dict(file)
    about = json.loads(str(data["about"]))
    batch = {name.removeprefix("batch/"): value for name, value in data.items() if name.startswith("batch/")}
    before = unpacked(data["before"], about["shapes"])
    after = unpacked(data["before"] + data["change"], about["shapes"])
    grads = unpacked(data["grads"], about["grad_shapes"])
    check(about["config"], before, batch, grads, after, about["result"])


def unpacked(flat: np.ndarray, shapes: dict[str, list[int]]) -> dict[str, np.ndarray]:
    """Named tensors from one long array, in the order of `shapes`."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    return {
        n: part.reshape(s) for (n, s), part in zip(shapes.items(), np.split(flat, ends)[:-1], strict=True)
    }


@pytest.mark.parametrize(
    "case",
    [
        "fb_simple_recorded",
        "fbcpr_simple_recorded_relabel",
        "fbcpr_simple_norandom_norelabel",
        "fbcpr_residual_recorded_clip",
    ],
)
def test_a_complete_update_equals_the_published_one(shared: Path, case: str) -> None:
    folder = shared / "golden" / f"e_{case}"
    with np.load(folder / "batch_and_draws.npz") as file:
        batch = dict(file)
    config, result = (json.loads((folder / f).read_text()) for f in ("before/config.json", "result.json"))
    before = load_file(folder / "before" / "model" / "model.safetensors")
    check(
        config,
        before,
        batch,
        load_file(folder / "grads.safetensors"),
        load_file(folder / "after.safetensors"),
        result,
    )
