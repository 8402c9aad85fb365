"""Hostile packed files: mutated in the structures that the HDF5 library follows, and sealed again."""

from hostile_files import MOST_SECONDS, HostileFiles


class Hostile:
    count = 100
    of_a_case = 10
    what = "a packed data set is mutated where HDF5 finds its way, sealed again, and verified"
    asked = f"{{items:,}} of {{items:,}} refused with 65 or read as HDF5 reads them, in less than {MOST_SECONDS} s of processor time"

    def __init__(self, folder):
        self.folder = folder
        self.files = HostileFiles(folder)

    def check(self, index, random):
        path = self.folder / f"hostile-{index}.h5"
        results = []
        for _ in range(self.of_a_case):
            results.append(self.files.check(random, path))
        path.unlink()
        return results

    def measured(self, results):
        files = [each for result in results for each in result]
        refused = sum(is_refused for _, is_refused, _ in files)
        slowest = max(seconds for _, _, seconds in files)
        return f"{len(files):,} of {{items:,}}, {refused:,} refused; {slowest:.1f} s at most by the clock"
