from submarine.compat.densecrf import *  # noqa: F401,F403
