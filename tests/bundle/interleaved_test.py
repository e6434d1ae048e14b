"""tests/bundle/interleaved.py: what it claims of two sides, and its talk with `products`.

    interleaved_test.py PRODUCTS"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import interleaved


def takes(*milliseconds):
    """A side whose launches take these in turns; the first call asks for the number of launches."""
    calls = iter([milliseconds[0], *milliseconds * 100])
    return lambda launches: next(calls)


class Claims(unittest.TestCase):
    def test_a_ratio_is_theirs_over_ours(self):
        result = interleaved.in_turns(takes(1.0), takes(2.0))
        self.assertEqual((result["ratio"], result["ci"], result["aa"]), (2, [2, 2], 1))
        self.assertEqual((result["ours_us"], result["anchor_us"]), (1000, 2000))
        self.assertTrue(result["counts"])

    def test_an_interval_with_one_in_it_claims_nothing(self):
        result = interleaved.in_turns(takes(1.0), takes(0.9, 1.1, 1.0))
        self.assertLessEqual(result["ci"][0], 1)
        self.assertGreaterEqual(result["ci"][1], 1)
        self.assertFalse(result["counts"])

    def test_nothing_counts_that_ours_differs_from_itself_by(self):
        # The first of ours is a tenth quicker than the second, and theirs as much slower.
        result = interleaved.in_turns(takes(1.0, 1.2), takes(1.2))
        self.assertGreater(result["ci"][0], 1)
        self.assertFalse(result["counts"])

    def test_short_launches_are_timed_together(self):
        self.assertEqual([interleaved.launches_for(ms) for ms in (0.001, 0.1, 4, 300)],
                         [200, 100, 2, 1])


class Talk(unittest.TestCase):
    program = ""

    def test_arrays_are_handed_over_and_launches_timed(self):
        with tempfile.TemporaryDirectory() as folder:
            ours = interleaved.Ours(self.program, "host", folder)
            problems = ours.problems()
            problem = next(p for p in problems if p["type"] == "i8")
            made = ours.make(problem["name"])
            self.assertTrue(made["right"])
            self.assertEqual(float(made["max_error"]), 0)
            a, b, c = ((pathlib.Path(folder) / str(i)).read_bytes() for i in range(3))
            self.check_first_row(problem, a, b, c)
            self.assertGreater(ours.milliseconds(1), 0)
            with self.assertRaisesRegex(RuntimeError, "no problem 'nothing'"):
                ours.make("nothing")
            ours.close()
            self.assertEqual(ours.process.returncode, 0)

    def check_first_row(self, problem, a, b, c):
        m, n, k = (problem[key] for key in "mnk")
        self.assertEqual([len(a), len(b), len(c)], [m * k, k * n, 4 * m * n])
        self.assertFalse(problem["transposed"])
        for j in range(n):
            product = sum(int.from_bytes(a[i:i + 1], "little", signed=True) *
                          int.from_bytes(b[i * n + j:i * n + j + 1], "little", signed=True)
                          for i in range(k))
            self.assertEqual(int.from_bytes(c[4 * j:4 * j + 4], "little", signed=True), product)


if __name__ == "__main__":
    Talk.program = sys.argv.pop()
    unittest.main()
