"""Where a point of the scene falls in the picture: a pinhole camera at the height of a tall step ladder."""

from __future__ import annotations

from dataclasses import dataclass

from edit_eval.scenes.scene import Scene, Thing

EYE = 3.0
"""Height of the camera above the ground, in metres."""
HORIZON = 0.42
"""Height of the horizon, as a fraction of the picture from above."""
FOCAL = 1.35
"""Focal length, in picture heights."""


@dataclass(frozen=True)
class Camera:
    """Maps metres to pixels: x to the right, h up, z away from the camera."""

    width: int
    height: int

    @staticmethod
    def of(scene: Scene) -> Camera:
        return Camera(scene.width, scene.height)

    @property
    def horizon(self) -> float:
        """In pixels from above."""
        return self.height * HORIZON

    @property
    def focal(self) -> float:
        """In pixels."""
        return self.height * FOCAL

    def ground_y(self, depth: float) -> float:
        """The row of the ground at a depth from 0 (horizon) to 1 (lower edge)."""
        return self.horizon + depth * (self.height - self.horizon)

    def distance(self, depth: float) -> float:
        """How far away the ground at that depth is, in metres."""
        return self.focal * EYE / max(1e-6, self.ground_y(depth) - self.horizon)

    def scale(self, depth: float) -> float:
        """Pixels a metre at that depth."""
        return self.focal / self.distance(depth)

    def place(self, thing: Thing) -> tuple[float, float]:
        """Where a thing's base stands on the ground: x and z in metres."""
        z = self.distance(thing.depth)
        return (thing.x - 0.5) * self.width * z / self.focal, z

    def project(self, x: float, h: float, z: float) -> tuple[float, float]:
        """The pixel at which a point is seen."""
        z = max(z, 0.5)
        return self.width / 2 + x * self.focal / z, self.horizon + (EYE - h) * self.focal / z

    def fraction(self, metres: float, depth: float) -> float:
        """What a length at that depth takes of the picture's width."""
        return metres * self.scale(depth) / self.width
