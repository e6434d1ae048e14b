"""Times two sides in turns and says what may be claimed of their ratio; for product_peers.py."""

import json
import random
import statistics
import subprocess

ROUNDS = 15  # at least


class Ours:
    """The program `products`, which has our kernels and their arrays."""

    def __init__(self, program, device, folder):
        self.folder = folder
        self.process = subprocess.Popen([program, device, "--serve", folder], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer and self.process.poll() is not None:
            raise RuntimeError(f"products ended with {self.process.returncode} at '{command}'")
        if answer.startswith("error"):
            raise RuntimeError(answer)
        return answer

    def problems(self):
        found, line = [], self.ask("list")
        while line:
            found.append(json.loads(line))
            line = self.process.stdout.readline().strip()
        return found

    def make(self, name):
        """The members of its line, as text; `right` says whether the result was."""
        line = self.ask(f"make {name}")
        members = dict(word.split("=", 1) for word in line.split() if "=" in word)
        return members | {"right": not line.endswith("WRONG")}

    def milliseconds(self, launches):
        return float(self.ask(f"time {launches}").removeprefix("ms="))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def launches_for(milliseconds):
    """So many that a measurement takes ten milliseconds, which the clock and the first launches
    disturb little."""
    return max(1, min(200, round(10 / milliseconds)))


def median_interval(values, seed=1):
    """The 95 percent interval of the median, by bootstrap."""
    generator = random.Random(seed)
    medians = sorted(statistics.median(generator.choices(values, k=len(values)))
                     for _ in range(2000))
    return medians[len(medians) * 25 // 1000], medians[len(medians) * 975 // 1000 - 1]


def in_turns(ours, theirs, rounds=ROUNDS):
    """Both sides are functions from a number of launches to the milliseconds of one. Ours, theirs,
    ours again, so that a drift of the machine's is seen as a difference of ours from itself."""
    our_launches, their_launches = launches_for(ours(1)), launches_for(theirs(1))
    first, peer, again = [], [], []
    for _ in range(rounds):
        first.append(ours(our_launches))
        peer.append(theirs(their_launches))
        again.append(ours(our_launches))
    ratios = [2 * b / (a + c) for a, b, c in zip(first, peer, again)]
    low, high = median_interval(ratios)
    ratio = statistics.median(ratios)
    noise = statistics.median(a / c for a, c in zip(first, again))
    return {"ours_us": round(1e3 * statistics.median(first + again), 2),
            "anchor_us": round(1e3 * statistics.median(peer), 2), "ratio": round(ratio, 4),
            "ci": [round(low, 4), round(high, 4)], "aa": round(noise, 4),
            "counts": (low > 1 or high < 1) and abs(noise - 1) < abs(ratio - 1)}
