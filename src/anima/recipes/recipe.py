"""What a recipe says, and how it becomes an agent, its data and its collector."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import torch
import tyro

from anima.agents import Agent, default_config, make_agent
from anima.agents.checkpoint import load, newest_whole
from anima.agents.config import from_dict
from anima.agents.experts import Experts
from anima.agents.player import Subject
from anima.agents.td3 import TD3
from anima.data.clip_states import ClipStates
from anima.data.expert import Expert
from anima.data.files import read_json
from anima.data.offline import Offline
from anima.data.replay import Replay, Widths
from anima.domains.domain import Domain, make_domain
from anima.domains.family import Family
from anima.domains.goal import Keep, find_goal
from anima.errors import BadInput
from anima.evaluation.trials import Trials
from anima.motion.library import Library, embedded_library
from anima.networks.grow import widened
from anima.prompting.prompt import Prompter, model_hash
from anima.prompting.told import Told
from anima.recipes.demonstrations import DEMONSTRATIONS
from anima.recipes.teachers import open_teachers
from anima.training.collect import Collector, Rewards
from anima.training.loop import Data, Evaluation, Schedule
from anima.training.opening import Helper
from anima.training.priorities import EPISODES, SAMPLES, Follows, Scores
from anima.training.run import RECIPE

C = TypeVar("C")
SPLIT = "train"  # the part of a library that agents may learn from
MAY_BE_0 = ("phase_updates", "seed_steps", "refill_steps", "ramp", "hold", "cooldown")  # of a schedule
# Those the published training is judged by on the way.
TASKS = (
    "move-ego-0-0 jump-2 move-ego-0-2 move-ego-90-2 move-ego-180-2 "
    "rotate-x-5-0.8 rotate-y-5-0.8 rotate-z-5-0.8"
)


@dataclass(frozen=True)
class Recipe(Generic[C]):
    """A complete configuration; `config` is the agent's own."""

    agent: Annotated[str, tyro.conf.Suppress]
    config: C
    domain: str = "humanoid"  # the world to live in
    library: str = ""  # file of motion clips; left out, those that come with the domain, if clips are needed
    task: str = ""  # what an agent of one task learns: a task's name or an expression …
    goal: str = ""  # … or a goal, as FILE:NAME, or NAME of those that come with the domain
    family: str = ""  # … or a family of rewards of the domain, for an agent that learns many
    dataset: str = ""  # file of transitions to learn from instead of acting (offline)
    schedule: Schedule = field(default_factory=Schedule)
    collector: Collector.Config = field(default_factory=Collector.Config)
    replay: int = 5_000_000  # rows kept of the agent's own experience
    on_disk: bool = False  # keep those rows in files instead of memory
    tasks: str = TASKS  # whose returns are measured while training, separated by spaces
    prioritize: bool = True  # draw clips more often that are tracked badly
    seed: int = 0  # of everything random
    threads: int = 0  # of torch; 0 for as many as there are cores
    origin: Annotated[str, tyro.conf.arg(name="from")] = ""  # model, run or checkpoint to go on from
    origin_hash: Annotated[str, tyro.conf.Suppress] = ""  # SHA-256 of its weights, set when a run begins
    teacher: str = ""  # with config.teaching: who is imitated in following clips, a model or run that went on
    # from that one; left out, that one itself
    helper_hash: Annotated[str, tyro.conf.Suppress] = ""  # the same of the collector's helper …
    teacher_hash: Annotated[str, tyro.conf.Suppress] = ""  # … and of the teacher


def from_json(values: Any) -> Recipe[Any]:
    """The recipe that `asdict` took apart; unknown keys are errors."""
    if not isinstance(values, dict) or "agent" not in values:
        raise BadInput("recipe: expected an object with the key 'agent'")
    kind = type(default_config(values["agent"]))
    return from_dict(Recipe[kind], values, "recipe")  # type: ignore[valid-type]


def build(recipe: Recipe[Any], folder: Path) -> tuple[Agent, Data, Collector | None]:
    """A new agent, what it learns from, and who collects it; rows on disk go into `folder`."""
    if recipe.threads:
        torch.set_num_threads(recipe.threads)
    check(recipe)
    domain = make_domain(recipe.domain)
    agent: Any = make_agent(recipe.agent, domain.space, recipe.config, recipe.seed)
    if (teachers := open_teachers(recipe, folder / "teachers")) is not None:
        agent.teachers = teachers
    expert = open_clips(recipe, domain)
    if recipe.dataset:
        return agent, Data(Offline(Path(recipe.dataset)), expert), None
    rows = folder / "rows" if recipe.on_disk else None
    latent, columns = getattr(recipe.config, "latent", 0), {}
    if agent.tracking is not None:  # its contexts change every step, and so are columns
        latent, columns = 0, {"z": latent, "next_z": latent, "distance": 1, "frame": 1}
    aimed = aim(recipe, domain)
    rewards = None if aimed is None else aimed[0]
    if aimed is not None:
        columns = {**columns, "reward": aimed[1]}
    if isinstance(agent, Experts):
        agent.tell(find_family(recipe, domain).told)
        latent = recipe.config.told
    worlds = recipe.collector.worlds
    replay = Replay(widths(domain, latent), worlds, recipe.replay, columns, folder=rows)
    tracking, helper = agent.tracking, open_helper(recipe, domain)
    if helper is not None and expert is not None:
        expert.ends = torch.from_numpy(helper.done(expert.clips.qpos, expert.clips.qvel))
    collector = Collector(domain, replay, recipe.collector, recipe.seed, expert, tracking, rewards, helper)
    return agent, Data(replay, expert), collector


def open_helper(recipe: Recipe[Any], domain: Domain) -> Helper | None:
    """The agent of a run that needs no prompt, with its task; None where none is asked for."""
    config = recipe.collector
    if config.help == 0:
        if config.helper:
            raise BadInput("collector.helper is named, but may not act: say how many steps (collector.help)")
        return None
    if not config.helper:
        raise BadInput("collector.help asks for a helper: name its run (collector.helper), or set help to 0")
    agent = load(config.helper)
    if not isinstance(agent, TD3) or not (Path(config.helper) / RECIPE).exists():
        raise BadInput(f"{config.helper} (collector.helper) is no run of one task, such as `laptop.getup`")
    learned = from_json(read_json(Path(config.helper) / RECIPE)["recipe"])
    if learned.domain != domain.name or not learned.task:
        raise BadInput(f"{config.helper} (collector.helper) has learned no task of the {domain.name}")
    if recipe.helper_hash and recipe.helper_hash != model_hash(agent):
        raise BadInput(f"{config.helper} (collector.helper) has learned more since this run began")
    return Helper(agent, domain.task(learned.task))


def aim(recipe: Recipe[Any], domain: Domain) -> tuple[Rewards, int] | None:
    """The rewards to learn, and how many these are, for agents that learn some."""
    named = {key: getattr(recipe, key) for key in ("task", "goal", "family") if getattr(recipe, key)}
    if len(named) > 1:
        raise BadInput(f"{' and '.join(f'{k} {v!r}' for k, v in named.items())}: only one of them is learned")
    if recipe.family:
        family = find_family(recipe, domain)
        return family.rewards, len(family.names)
    if recipe.goal:
        return Keep(domain, find_goal(recipe.goal, domain.name)).reward, 1
    return (domain.task(recipe.task).reward, 1) if recipe.task else None


def find_family(recipe: Recipe[Any], domain: Domain) -> Family:
    known = domain.families()
    if recipe.family not in known:
        has = ", ".join(known) or "none"
        raise BadInput(
            f"the {domain.name} has no family of rewards {recipe.family!r} (--family); it has {has}"
        )
    return known[recipe.family]


def begin_from(agent: Agent, recipe: Recipe[Any]) -> list[str]:
    """Give a new agent the weights of the recipe's origin; returns in which settings the two differ.

    Networks with a multiple of the origin's hidden units grow from it. A run or checkpoint also has what a
    model leaves out, such as the guided agent's model of the world.
    """
    origin = load(recipe.origin)
    if recipe.origin_hash != model_hash(origin):
        raise BadInput(f"{recipe.origin} is not what this run began from: its weights have changed")
    theirs, ours = flat(origin.settings()), flat(agent.settings())
    differ = [
        f"{key} is {theirs.get(key)} there and {ours.get(key)} here"
        for key in ours | theirs
        if theirs.get(key) != ours.get(key)
    ]
    try:
        own = agent.state_dict()
        inherited = origin.essentials() | {k: x for k, x in origin.besides().items() if k in own}
        agent.load_essentials(widened(inherited, agent, agent.draws.generator))
    except BadInput as error:
        raise BadInput(f"--from {recipe.origin} does not fit ({error}): {'; '.join(differ)}") from None
    return differ


def take_over(replay: Replay, recipe: Recipe[Any]) -> None:
    """Give a new run what the run that it goes on from has seen."""
    origin = Path(recipe.origin)
    if not (origin / RECIPE).exists():
        raise BadInput(
            f"schedule.refill_steps is 0, but --from {origin} is no run, and has no replay: refill one"
        )
    replay.load(origin / "replay", read_json(newest_whole(origin) / "state.json")["replay"])
    replay.cut()


def flat(values: Any, at: str = "") -> dict[str, Any]:
    """Nested values by their paths, such as config.policy.rate."""
    if not isinstance(values, dict):
        return {at: values}
    return {k: v for key, value in values.items() for k, v in flat(value, f"{at}.{key}".strip(".")).items()}


def check(recipe: Recipe[Any]) -> None:
    """An error that names the first setting that fits no other."""
    schedule, worlds = recipe.schedule, recipe.collector.worlds
    for name, value in asdict(schedule).items():
        if value < (0 if name in MAY_BE_0 else 1):
            raise BadInput(f"schedule.{name} is {value}; give a positive number")
    if schedule.phase_steps % worlds:
        raise BadInput(f"schedule.phase_steps {schedule.phase_steps} is no multiple of {worlds} worlds")
    if not recipe.dataset and not recipe.origin and schedule.seed_steps == 0:
        raise BadInput("schedule.seed_steps is 0; the first update needs some steps to learn from")


def evaluations(recipe: Recipe[Any], data: Data, collector: Collector | None) -> list[Evaluation]:
    """What is measured while training: how clips are followed, and returns of the tasks named."""
    domain = make_domain(recipe.domain)
    start = domain.starts()[domain.test_start]
    trials = Trials(start, EPISODES, recipe.collector.limit, recipe.seed, threads=recipe.collector.threads)
    asked: list[Evaluation] = []
    if data.clips is not None:
        asked.append(Follows(domain, data.clips, trials, collector, recipe.prioritize))

    def who(agent: Any) -> Subject:
        if recipe.family:
            return Told(domain, {recipe.family: agent})
        if not getattr(recipe.config, "reward_clips", False):
            return Prompter(agent, data.replay, SAMPLES)
        action = None if data.expert.actions is None else data.expert.actions.numpy()
        return Prompter(agent, ClipStates(data.expert.clips, domain, action), SAMPLES)

    if recipe.tasks:
        asked.append(Scores(domain, who, recipe.tasks.split(), trials))
    return asked


def open_clips(recipe: Recipe[Any], domain: Domain) -> Expert | None:
    """A library's clips, or demonstrations, which have actions too."""
    if recipe.library in DEMONSTRATIONS:
        clips, actions = DEMONSTRATIONS[recipe.library]()
        return Expert(clips, domain, actions)
    library = find_library(recipe)
    if library is None:
        return None
    opened = Library.open(library, split=SPLIT)
    if opened.domain != domain.name:
        raise BadInput(f"{library} holds clips of the {opened.domain}, not of the {domain.name}")
    return Expert(opened, domain, opened.action)


def find_library(recipe: Recipe[Any]) -> Path | None:
    """The library named; else the one that comes with the domain, where an agent or a start needs clips."""
    if recipe.library:
        return Path(recipe.library)
    needed = recipe.collector.clip_share > 0 or hasattr(recipe.config, "expert_share")
    return embedded_library(recipe.domain) if needed else None


def widths(domain: Domain, context: int) -> Widths:
    physics = domain.physics(1, 1)
    qpos, qvel = physics.qpos.shape[1], physics.qvel.shape[1]
    return Widths(domain.space.obs, domain.space.action, qpos, qvel, context)
