from submarine.compat.utils import *  # noqa: F401,F403
