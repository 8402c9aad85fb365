"""Random lives of runs: trained, killed, stopped, damaged, out of disk space, resumed, in any order."""

import collections

from life import Life, own_mounts
from undisturbed import Undisturbed


class Lives:
    count = 300
    of_a_case = 1
    acts = 7
    what = "{count} runs live through " + str(acts) + " random acts each: started and resumed (auto, a path, best; 1 or 2 ranks; longer than " \
           "before), killed, stopped, damaged, short of disk, evaluated"
    asked = "{items:,} of {items:,}: after each act nothing is lost, after each end everything is as in an undisturbed run"

    def __init__(self, folder):
        self.folder = folder
        own_mounts()
        self.undisturbed = Undisturbed(folder)

    def check(self, index, random):
        return Life(self.folder / f"life-{index}", self.undisturbed, random).live(self.acts)

    def measured(self, results):
        acts = sum(results, collections.Counter())
        return f"{len(results)} of {{items:,}}: " + ", ".join(f"{count} {act}" for act, count in sorted(acts.items()))
