"""BVH files: any hierarchy, any channels in any order.

A joint turns by its rotation channels in the order they stand, each about its own moved axis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from anima import rotation
from anima.errors import BadInput
from anima.motion.recording import Recording
from anima.rotation import Array

AXES = {"x": 0, "y": 1, "z": 2}
CHANNEL = re.compile(r"([xyz])(position|rotation)", re.IGNORECASE)
MAX_JOINTS = 2000
MAX_BYTES = 2**31


def read_bvh(path: Path) -> Recording:
    if path.stat().st_size > MAX_BYTES:
        raise BadInput(f"{path}: {path.stat().st_size:,} bytes; a BVH file may have {MAX_BYTES:,}")
    try:
        return parse_bvh(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text at byte {error.start}, so not a BVH file") from error
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def parse_bvh(text: str) -> Recording:
    words = re.search(r"^\s*MOTION\s*$", text, re.MULTILINE)
    if words is None:
        raise BadInput("no line MOTION: the file is empty, cut off, or not a BVH file")
    tree = _Hierarchy()
    tree.read(text[: words.start()].split())
    frames, step, values = _motion(text[words.end() :], tree.channel_count)
    offsets, root = np.array(tree.offsets), np.tile(tree.offsets[0], (frames, 1))
    turns: list[list[tuple[int, int, int]]] = [
        [],
        [],
        [],
        [],
        [],
        [],
    ]  # by place in a joint: joint, axis, column
    column = 0
    for j, channels in enumerate(tree.channels):
        place = 0
        for kind, axis in channels:
            if kind == "rotation":
                turns[place].append((j, axis, column))
                place += 1
            elif j == 0:
                root[:, axis] = values[:, column]
            else:  # some writers repeat the offset, perhaps scaled, as a channel
                offsets[j, axis] = np.median(values[:, column])
            column += 1
    local = _local(values, turns, len(tree.joints))
    return Recording(tuple(tree.joints), tuple(tree.parents), offsets, local, root, 1 / step)


def _local(values: Array, turns: list[list[tuple[int, int, int]]], joints: int) -> Array:
    """(T, J, 4) rotations: each joint's channels multiplied in the order they stand, all joints at once."""
    local = np.zeros((len(values), joints, 4))
    local[..., 0] = 1
    for steps in filter(None, turns):
        where, axes, columns = np.array(steps).T
        half = np.radians(values[:, columns]) / 2
        turn = np.zeros((*half.shape, 4))
        turn[..., 0] = np.cos(half)
        turn[:, np.arange(len(axes)), 1 + axes] = np.sin(half)
        local[:, where] = rotation.multiply(local[:, where], turn)
    return local


@dataclass
class _Hierarchy:
    joints: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[list[tuple[str, int]]] = field(default_factory=list)

    @property
    def channel_count(self) -> int:
        return sum(len(channels) for channels in self.channels)

    def read(self, words: list[str]) -> None:
        """Walk the words of the hierarchy once; `open_joints` is the path from the root to where we are."""
        self.words, self.at = words, 0
        self._expect("HIERARCHY")
        open_joints: list[int] = []
        while self.at < len(words):
            word = self._next("a joint or }").upper()
            if word in ("ROOT", "JOINT"):
                self._joint(word, open_joints)
            elif word == "END":
                self._end_site()
            elif word == "OFFSET" and open_joints:
                self.offsets[open_joints[-1]] = [self._number("OFFSET") for _ in range(3)]
            elif word == "CHANNELS" and open_joints:
                self.channels[open_joints[-1]] = self._channels(self.joints[open_joints[-1]])
            elif word == "}" and open_joints:
                open_joints.pop()
            else:
                raise BadInput(f"unexpected word {words[self.at - 1][:40]!r} in the hierarchy")
        if open_joints:
            raise BadInput(f"the hierarchy ends inside joint {self.joints[open_joints[-1]]}: a }} is missing")
        if not self.joints:
            raise BadInput("the hierarchy has no ROOT")

    def _joint(self, word: str, open_joints: list[int]) -> None:
        name = self._next("a joint's name")
        while self.at < len(self.words) and self.words[self.at] != "{":  # names with blanks occur
            name += " " + self._next("{")
        self._expect("{")
        if name in self.joints:
            raise BadInput(f"two joints are called {name!r}")
        if (word == "ROOT") != (not open_joints) or (word == "ROOT" and self.joints):
            raise BadInput(f"{word} {name}: a file has one ROOT, and every JOINT stands inside it")
        if len(self.joints) >= MAX_JOINTS:
            raise BadInput(f"more than {MAX_JOINTS} joints")
        self.parents.append(open_joints[-1] if open_joints else -1)
        open_joints.append(len(self.joints))
        self.joints.append(name)
        self.offsets.append([0.0, 0.0, 0.0])
        self.channels.append([])

    def _end_site(self) -> None:
        self._expect("SITE")
        self._expect("{")
        self._expect("OFFSET")
        for _ in range(3):
            self._number("End Site")
        self._expect("}")

    def _channels(self, joint: str) -> list[tuple[str, int]]:
        count = self._number("CHANNELS")
        if count not in range(7):
            raise BadInput(f"joint {joint} has {count:g} channels; 0 to 6 are possible")
        channels = []
        for _ in range(int(count)):
            word = self._next("a channel")
            match = CHANNEL.fullmatch(word)
            if match is None:
                raise BadInput(
                    f"joint {joint}: {word[:40]!r} is no channel; expected such as Zrotation, Xposition"
                )
            channels.append((match[2].lower(), AXES[match[1].lower()]))
        moves = [channel for channel in channels if channel[0] == "position"]
        if len(set(moves)) != len(moves):
            raise BadInput(f"joint {joint} names a position channel twice")
        return channels

    def _next(self, wanted: str) -> str:
        if self.at >= len(self.words):
            raise BadInput(f"the hierarchy ends where {wanted} should stand")
        self.at += 1
        return self.words[self.at - 1]

    def _expect(self, wanted: str) -> None:
        word = self._next(wanted)
        if word.upper() != wanted:
            raise BadInput(f"{wanted} expected, found {word[:40]!r}")

    def _number(self, where: str) -> float:
        word = self._next(f"a number after {where}")
        try:
            value = float(word)
        except ValueError:
            raise BadInput(f"{where}: {word[:40]!r} is not a number") from None
        if not np.isfinite(value):
            raise BadInput(f"{where}: {word} is not finite")
        return value


def _motion(text: str, width: int) -> tuple[int, float, Array]:
    """Frames, seconds a frame, and the values (frames, width)."""
    head = re.match(r"\s*Frames:\s*(\S+)\s*Frame\s+Time:\s*(\S+)", text, re.IGNORECASE)
    if head is None:
        raise BadInput("after MOTION the lines `Frames: n` and `Frame Time: seconds` are missing")
    try:
        frames, step = int(head[1]), float(head[2])
    except ValueError:
        raise BadInput(
            f"Frames is {head[1]!r} and Frame Time {head[2]!r}; need a count and seconds"
        ) from None
    if frames < 1:
        raise BadInput(f"Frames is {frames}: there is no motion")
    if not (np.isfinite(step) and step > 0):
        raise BadInput(f"Frame Time is {head[2]}; it must be above 0 seconds")
    words = text[head.end() :].split()
    if len(words) != frames * width:
        raise BadInput(
            f"{frames} frames of {width} channels need {frames * width} numbers, but {len(words)} stand there"
        )
    try:
        values = np.array(words, dtype=float)
    except ValueError as error:
        raise BadInput(f"among the motion's numbers: {error}") from None
    values = values.reshape(frames, width)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise BadInput(f"frame {row}, channel {column} is {values[row, column]}: not finite")
    return frames, step, values
