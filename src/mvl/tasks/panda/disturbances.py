"""What a real arm adds to an ideal one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Disturbances:
    """Deviations from an ideal arm; by default there are none."""

    joint_noise: float = 0.0
    """Standard deviation of the noise on every reading of a joint, in rad."""
    joint_offset: float = 0.0
    """Standard deviation of the calibration error of a joint, in rad; drawn once per episode."""
    object_noise: float = 0.0
    """Standard deviation of the noise on every reading of the object's position, in m."""
    object_offset: float = 0.0
    """Standard deviation of the calibration error of the object's position, in m; drawn once per episode."""
    friction: float = 0.0
    """Friction in every joint, in Nm."""
    delay: int = 0
    """Steps from an action to its effect."""
    dropped: float = 0.0
    """Probability that an observation is lost, and the one before it is seen again."""


IDEAL = Disturbances()
DISTURBED = Disturbances(
    joint_noise=0.005, joint_offset=0.01, object_noise=0.003, object_offset=0.005, friction=2.0, delay=1, dropped=0.1
)
"""Those of the tasks `-disturbed`. Demonstrations have none."""
