"""A drive's log of writes (QEMU's blklogwrites), and what a power cut leaves of them.

The log has the format of Linux's dm-log-writes: a superblock, then for each
request an entry of one sector, followed by the data written. A drive with a
volatile cache owes only what was flushed; of everything after the last flush
it may have kept any sectors.
"""

import struct

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4


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


class Cut:
    """What was left: figures for the report."""

    def __init__(self):
        self.flushed = self.loose = self.lost_sectors = self.kept_sectors = 0


def cut_power(log_path, image_path, random, forgotten_flushes=0):
    """Applies the log to the image as it was before: all up to the last flush, then any sectors.

    A drive that lies forgets what the last `forgotten_flushes` flushes made durable, too.
    """
    cut = Cut()
    with open(log_path, "rb") as log, open(image_path, "r+b") as image:
        requests = entries(log)
        sector_bytes = next(requests)
        requests = list(requests)
        if forgotten_flushes:
            flushes = [at for at, (_, flags, _) in enumerate(requests) if flags & FLUSH]
            requests = requests[:flushes[-forgotten_flushes]]
        loose = []
        for first, flags, data in requests:
            if flags & DISCARD:
                raise ValueError("the guest discarded sectors")
            if flags & FLUSH:
                cut.flushed += len(loose)
                for old_first, old_data in loose:
                    image.seek(old_first * sector_bytes)
                    image.write(old_data)
                loose = []
            if flags & FUA:
                image.seek(first * sector_bytes)
                image.write(data)
            elif data:
                loose.append((first, data))
        cut.loose = len(loose)
        odds = random.randrange(5) / 4  # none, some, all
        for first, data in loose:
            for at in range(0, len(data), sector_bytes):
                if random.random() >= odds:
                    cut.lost_sectors += 1
                    continue
                cut.kept_sectors += 1
                image.seek(first * sector_bytes + at)
                image.write(data[at:at + sector_bytes])
    return cut
