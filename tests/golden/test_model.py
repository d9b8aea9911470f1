#!/usr/bin/env python3
"""The reference model against the published table of golden values.

Without the program: what this shows is that model.py, which later tests lay over
`worldpager replay`, yields the table. Data of the table: milliseconds, k = 2, Int4,
160 frames, warm-up 20. Run it alone: tests/golden/test_model.py
"""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import golden  # noqa: E402
import model  # noqa: E402


class GoldenTable(unittest.TestCase):
    def agree(self, row, trace, arm, **expected):
        figures = model.summary(model.replay(golden.trajectory(trace), arm, row.rate))
        for key, value_ms in expected.items():
            slack_ms = golden.slack_ms(row, key)
            found_ms = float(figures[key]) / 1e6
            self.assertLessEqual(
                abs(found_ms - value_ms),
                slack_ms,
                f"{trace} {arm} {row.rate} B/s: {key} is {found_ms} ms, table {value_ms} ms",
            )

    def test_table(self):
        for row in golden.TABLE:
            for expectation in golden.expectations(row):
                with self.subTest(rate=row.rate, **expectation):
                    self.agree(row, **expectation)

    def test_sets(self):
        for name, sets in golden.SETS.items():
            result = model.replay(golden.trajectory(name), "on_demand", 250_000_000)
            for frame, blocks in sets.items():
                self.assertEqual(result[frame]["retrieved"], blocks, f"{name} frame {frame}")

    def test_hints(self):
        trace = golden.trajectory("b1_ws")
        held = model.replay(trace, "prefetch", 250_000_000)[20:]
        hedged = model.replay(trace, "hedged", 250_000_000)[20:]
        self.assertEqual(sum(frame["missed"] > 0 for frame in held), 28)
        self.assertEqual(sum(frame["missed"] > 0 for frame in hedged), 0)
        self.assertEqual(max(len(frame["hints"]) for frame in hedged), 6)


if __name__ == "__main__":
    unittest.main()
