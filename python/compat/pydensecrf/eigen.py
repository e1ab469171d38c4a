from submarine.compat.eigen import *  # noqa: F401,F403
