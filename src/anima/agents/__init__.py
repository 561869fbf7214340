"""Which learners, fitted in which order; one file an agent."""

from anima.agents import experts, fb, fb_awac, fbcpr, fbcpr_bc, guided, rnd, td3
from anima.agents.agent import Agent, agent_from, agent_names, default_config, make_agent

__all__ = [
    "Agent",
    "agent_from",
    "agent_names",
    "default_config",
    "experts",
    "fb",
    "fb_awac",
    "fbcpr",
    "fbcpr_bc",
    "guided",
    "make_agent",
    "rnd",
    "td3",
]
