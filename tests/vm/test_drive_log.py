#!/usr/bin/env python3
"""What a power cut leaves of a drive: nothing that was flushed or forced is ever lost."""

import os
import random
import struct
import tempfile
import unittest

import drive_log

LOG_SECTOR = 512
FLUSH = (0, drive_log.FLUSH, b"")


def block(byte, size=4096):
    return bytes([byte]) * size


class PowerCut(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.log = os.path.join(self.folder.name, "log")
        self.image = os.path.join(self.folder.name, "image")

    def cut(self, requests, seed=0, sector_bytes=512, **more):
        with open(self.log, "wb") as log:
            log.write(struct.pack("<QQQL", drive_log.MAGIC, 1, len(requests), LOG_SECTOR)
                      .ljust(LOG_SECTOR, b"\0"))
            for first, flags, data in requests:
                log.write(struct.pack("<QQQQ", first, len(data) // LOG_SECTOR, flags, 0)
                          .ljust(LOG_SECTOR, b"\0") + data)
        with open(self.image, "wb") as image:
            image.write(block(0) * 4)
        cut = drive_log.cut_power(self.log, self.image, sector_bytes, random.Random(seed), **more)
        with open(self.image, "rb") as image:
            return cut, image.read()

    def test_what_was_flushed_is_there(self):
        for seed in range(40):
            cut, image = self.cut([(0, 0, block(1)), FLUSH, (8, 0, block(2))], seed)
            self.assertEqual(image[:4096], block(1))
            self.assertEqual((cut.loose, cut.lost_sectors + cut.kept_sectors), (1, 8))
            self.assertEqual(image[4096:8192].count(b"\2"), cut.kept_sectors * 512)

    def test_whole_sectors_are_lost(self):
        kept = set()
        for seed in range(40):
            _, image = self.cut([(0, 0, block(1) + block(2))], seed, sector_bytes=4096)
            kept.add((image[:4096], image[4096:8192]))
        self.assertEqual(kept, {(a, b) for a in (block(0), block(1))
                                for b in (block(0), block(2))})

    def test_what_was_forced_is_there_and_stays(self):
        commit = drive_log.JOURNAL_COMMIT.ljust(4096, b"c")
        for flags, data in ((drive_log.FUA, block(2)), (0, commit)):
            for seed in range(40):
                _, image = self.cut([(0, 0, block(1)), (0, flags, data), (8, 0, block(3))], seed)
                self.assertEqual(image[:4096], data)
            _, image = self.cut([(0, 0, block(1)), (0, flags, data), FLUSH])
            self.assertEqual(image[:4096], data)
            _, image = self.cut([(0, flags, data), (0, 0, block(4)), FLUSH])
            self.assertEqual(image[:4096], block(4))

    def test_a_drive_that_lies(self):
        cut, image = self.cut([FLUSH, (0, 0, block(1)), FLUSH, (8, 0, block(2)), FLUSH], 1,
                              forgotten_flushes=1)
        self.assertEqual(image[:4096], block(1))
        self.assertEqual(cut.loose, 1)

    def test_discarded_sectors(self):
        with self.assertRaises(ValueError):
            self.cut([(0, drive_log.DISCARD, b"")])


if __name__ == "__main__":
    unittest.main()
