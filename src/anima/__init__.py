"""Anima trains behavioral foundation models and lets people prompt them."""

from importlib.metadata import version

from anima.domains.domain import make_env, make_task, observe, register_gymnasium
from anima.errors import BadInput

__version__ = version("anima")
__all__ = ["BadInput", "__version__", "make_env", "make_task", "observe"]

register_gymnasium()
