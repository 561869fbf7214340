"""Between latents: mixtures and paths that stay on the sphere where latents lie."""

from collections.abc import Sequence

import numpy as np

from anima.errors import BadInput
from anima.rotation import Array

NEARLY_OPPOSITE = 1e-6  # sines below this leave the way between two latents undefined


def blend(latents: Sequence[Array], weights: Sequence[float] | None = None) -> Array:
    """The weighted mean of latents (d,) or (…, d), brought back to the first one's length.

    FB's latents are linear in rewards, so this follows the weighted sum of what each stands for.
    """
    shares = np.ones(len(latents)) if weights is None else np.asarray(weights, float)
    if len(latents) == 0 or len(shares) != len(latents):
        raise BadInput(f"{len(latents)} latents and {len(shares)} weights given; need equally many")
    mean = sum(share * np.asarray(latent, float) for share, latent in zip(shares, latents, strict=True))
    norm = np.linalg.norm(mean, axis=-1, keepdims=True)
    if (norm < NEARLY_OPPOSITE).any():
        raise BadInput("these latents cancel each other out; give other weights")
    return (mean / norm * np.linalg.norm(latents[0], axis=-1, keepdims=True)).astype(np.float32)


def interpolate(start: Array, stop: Array, share: float | Array) -> Array:
    """The latent `share` of the way along the great circle; shares (k,) of latents (d,) give (k, d)."""
    a, b = np.asarray(start, float), np.asarray(stop, float)
    radius = np.linalg.norm(a, axis=-1, keepdims=True)
    cosine = (a * b).sum(-1, keepdims=True) / (radius * np.linalg.norm(b, axis=-1, keepdims=True))
    angle = np.arccos(np.clip(cosine, -1, 1))
    t = np.asarray(share, float)[..., None]
    if (np.sin(angle) < NEARLY_OPPOSITE).any():
        if (cosine < 0).any():
            raise BadInput("opposite latents have no shortest way between them")
        return (a + 0 * t).astype(np.float32)
    return ((np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)).astype(np.float32)
