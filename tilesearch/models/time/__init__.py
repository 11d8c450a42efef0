"""The tile time model: microseconds of a tile from its resources, physics and a handful of device constants."""

from tilesearch.models.time.constants import Constants, constants_of
from tilesearch.models.time.launch import Launch, launch_of
from tilesearch.models.time.model import CLASSES, Prediction, physics_of, predict

__all__ = ["CLASSES", "Constants", "Launch", "Prediction", "constants_of", "launch_of", "physics_of", "predict"]
