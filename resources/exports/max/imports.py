
import json
import math
import os
import re
import sys

try:
    from importlib.metadata import version
    import numpy as np
    from max.driver import CPU
    from max.graph import ShardingStrategy
    from max.graph.weight import Segment
