"""A drive's log of writes (QEMU's blklogwrites), and what a power cut leaves of them.

The log has the format of Linux's dm-log-writes: a superblock, then for each
request an entry of one sector, followed by the data written. A drive with a
volatile cache owes only what was flushed; of everything after the last flush
it may have kept any sectors.
"""

import struct

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4
JOURNAL_COMMIT = bytes.fromhex("c03b3998 00000002")  # of JBD2: magic, block type


def entries(log):
    """(first sector, flags, data) in the order of the requests; sectors of the log's own size."""
    magic, version, count, sector_bytes = struct.unpack("<QQQL", log.read(28))
    if magic != MAGIC or version != 1:
        raise ValueError("not a log of writes")
    yield sector_bytes
    at = sector_bytes
    for _ in range(count):
        log.seek(at)
        header = log.read(32)
        if len(header) < 32:
            return
        first, sectors, flags, _ = struct.unpack("<QQQQ", header)
        at += sector_bytes
        data = b""
        if not flags & DISCARD:
            data = log.read(0) if not sectors else _read_at(log, at, sectors * sector_bytes)
            at += sectors * sector_bytes
        yield first, flags, data


def _read_at(log, at, length):
    log.seek(at)
    return log.read(length)


class Drive:
    """An image, and the sectors written to it that it still owes: (position, bytes) by request."""

    def __init__(self, image, unit_bytes):
        self.image, self.unit_bytes = image, unit_bytes
        self.owed = []

    def write(self, at, data):
        self.owed.append([(at + offset, data[offset:offset + self.unit_bytes])
                          for offset in range(0, len(data), self.unit_bytes)])

    def force(self, at, data):
        """Durable at once, whatever was owed there before."""
        end = at + len(data)
        self.owed = [[(place, sector) for place, sector in sectors
                      if place >= end or place + len(sector) <= at] for sectors in self.owed]
        self.put(at, data)

    def flush(self):
        for sectors in self.owed:
            for place, sector in sectors:
                self.put(place, sector)
        self.owed = []

    def put(self, at, data):
        self.image.seek(at)
        self.image.write(data)


class Cut:
    """What was left: figures for the report."""

    def __init__(self):
        self.loose = self.lost_sectors = self.kept_sectors = 0


def is_forced(flags, data):
    """QEMU's NVMe controller takes writes that are to be forced to the medium (FUA) for ordinary
    ones. ext4's journal relies on that for its commit records, which bear a mark of their own."""
    return flags & FUA or data.startswith(JOURNAL_COMMIT)


def play(requests, log_sector_bytes, drive):
    for first, flags, data in requests:
        if flags & DISCARD:
            raise ValueError("the guest discarded sectors")
        if flags & FLUSH:
            drive.flush()
        if is_forced(flags, data):
            drive.force(first * log_sector_bytes, data)
        elif data:
            drive.write(first * log_sector_bytes, data)


def cut_power(log_path, image_path, sector_bytes, random, forgotten_flushes=0):
    """Applies the log to the image as it was before: all up to the last flush, then any sectors.

    A drive that lies forgets what the last `forgotten_flushes` flushes made durable, too.
    """
    cut = Cut()
    with open(log_path, "rb") as log, open(image_path, "r+b") as image:
        drive = Drive(image, sector_bytes)
        requests = entries(log)
        log_sector_bytes = next(requests)
        requests = list(requests)
        if forgotten_flushes:
            flushes = [at for at, (_, flags, _) in enumerate(requests) if flags & FLUSH]
            requests = requests[:flushes[-forgotten_flushes]]
        play(requests, log_sector_bytes, drive)
        cut.loose = sum(bool(sectors) for sectors in drive.owed)
        odds = random.randrange(5) / 4  # none, some, all
        for place, sector in (owed for sectors in drive.owed for owed in sectors):
            if random.random() >= odds:
                cut.lost_sectors += 1
                continue
            cut.kept_sectors += 1
            drive.put(place, sector)
    return cut
