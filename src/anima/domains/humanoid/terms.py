"""The grammar of humanoid tasks, and the terms that many of their rewards share."""

from anima.domains.humanoid.kinematics import state
from anima.domains.task import Grammar

named = Grammar("humanoid", state)
