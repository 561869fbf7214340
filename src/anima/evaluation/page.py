"""One HTML file that shows prompts and what came of them: videos inside, no scripts, nothing fetched."""

import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from anima.errors import BadInput


@dataclass(frozen=True)
class Shown:
    """A prompt, a video of the body that followed it, and the figures of that."""

    model: str
    kind: str  # reward, goal or motion
    prompt: str  # as typed
    command: str  # that shows the same
    look: str  # what to look at
    measure: str  # the word for the figures
    note: str  # how to read them
    scores: dict[str, float]  # by player, the model first
    video: bytes  # mp4
    width: int  # pixels


def check_page_path(path: Path) -> None:
    """Found out before work is spent on what the page shows."""
    if path.suffix != ".html":
        raise BadInput(f"cannot write the page {str(path)!r}: the name must end in .html")
    if not path.parent.is_dir() or path.is_dir() or not os.access(path.parent, os.W_OK):
        raise BadInput(f"cannot write the page {str(path)!r}: {str(path.parent)!r} is no folder to write to")


def write_page(path: Path, shown: Sequence[Shown]) -> None:
    """A file of that name is replaced only by a whole one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        beside.write_text(page(shown), encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def page(shown: Sequence[Shown]) -> str:
    parts = [
        f"<h2>{escape(model)}</h2>\n" + "\n".join(map(_section, scenes))
        for model, scenes in groupby(shown, lambda scene: scene.model)
    ]
    template = files("anima.evaluation").joinpath("page.html").read_text(encoding="utf-8")
    return template.replace("<!-- scenes -->", "\n".join(parts))


def _section(scene: Shown) -> str:
    data = b64encode(scene.video).decode()
    return f"""<section>
<h3><span>{escape(scene.kind)}</span> <code>{escape(scene.prompt)}</code></h3>
<video width="{scene.width}" autoplay loop muted playsinline controls
  src="data:video/mp4;base64,{data}"></video>
<p>{escape(scene.look)}</p>
<table><caption>{escape(scene.measure)}: {escape(scene.note)}</caption>
{_bars(scene.scores)}
</table>
<pre><code>{escape(scene.command)}</code></pre>
</section>"""


def _bars(scores: dict[str, float]) -> str:
    most = max(*(abs(figure) for figure in scores.values()), 1e-9)
    return "\n".join(
        f"<tr><th>{escape(name)}</th><td>{figure:.2f}</td>"
        f'<td><i style="width:{100 * max(figure, 0) / most:.0f}%"></i></td></tr>'
        for name, figure in scores.items()
    )
