"""The golden table as data, and what it says about each arm."""
import functools
from collections import namedtuple

import model

Row = namedtuple(
    "Row",
    "rate on_demand on_demand_sum yaw_prefetch yaw_prefetch_sum ws_p50 ws_max ws_sum "
    "hedged_max hedged_sum",
)
# Milliseconds. b1_ws, prefetch: p50, max, sum; b1_ws, hedged: max, sum.
TABLE = [
    Row(100_000_000, 2585.1, 361912, 1385.1, 193912, 1385.1, 3970.2, 265002, 2585.1, 227512),
    Row(150_000_000, 1723.4, 241275, 523.4, 73275, 523.4, 2246.8, 120668, 1723.4, 106537),
    Row(200_000_000, 1292.5, 180956, 92.5, 12956, 92.5, 1385.1, 48501, 1292.5, 46002),
    Row(250_000_000, 1034.0, 144765, 0, 0, 0, 1034.0, 28436, 868.1, 23789),
    Row(350_000_000, 738.6, 103404, 0, 0, 0, 738.6, 20311, 277.2, 7484),
    Row(500_000_000, 517.0, 72382, 0, 0, 0, 517.0, 14218, 0, 0),
    Row(1_000_000_000, 258.5, 36191, 0, 0, 0, 258.5, 7109, 0, 0),
    Row(2_000_000_000, 129.3, 18096, 0, 0, 0, 129.3, 3554, 0, 0),
    Row(3_500_000_000, 73.9, 10340, 0, 0, 0, 73.9, 2031, 0, 0),
]
# `deadline` on b1_ws below 0.25 GB/s; from there on its sum is prefetch's.
DEADLINE_SUM = {100_000_000: 227512, 150_000_000: 106537, 200_000_000: 46002}

SETS = {
    "a_yaw": {20: [0, 1], 30: [10, 11], 40: [20, 0], 100: [80, 60], 159: [139, 119]},
    "b1_ws": {100: [90, 80], 101: [91, 81], 102: [92, 82]},
}

ACTIONS = {
    "a_yaw": [{"do": "right", "video_frames": 12}],
    "b1_ws": [{"do": "w", "video_frames": 60}, {"do": "s", "video_frames": 60}],
}


@functools.lru_cache(maxsize=None)
def trajectory(name):
    return model.make_trajectory(
        {
            "name": name,
            "frames": 160,
            "video_frames_per_frame": 12,
            "camera_degrees_per_video_frame": 1.5,
            "walk_metres_per_video_frame": 0.1235,
            "k": 2,
            "exclude_recent": 2,
            "actions": ACTIONS[name],
        }
    )


def expectations(row):
    """Trace, arm and the figures the table states for them."""
    deadline_sum = DEADLINE_SUM.get(row.rate, row.ws_sum)
    return [
        dict(trace="a_yaw", arm="on_demand", p50=row.on_demand, max=row.on_demand,
             sum=row.on_demand_sum),
        dict(trace="b1_ws", arm="on_demand", p50=row.on_demand, max=row.on_demand,
             sum=row.on_demand_sum),
        dict(trace="a_yaw", arm="prefetch", p50=row.yaw_prefetch, max=row.yaw_prefetch,
             sum=row.yaw_prefetch_sum),
        dict(trace="a_yaw", arm="deadline", p50=row.yaw_prefetch, max=row.yaw_prefetch,
             sum=row.yaw_prefetch_sum),
        dict(trace="b1_ws", arm="prefetch", p50=row.ws_p50, max=row.ws_max, sum=row.ws_sum),
        dict(trace="b1_ws", arm="deadline", max=row.on_demand, sum=deadline_sum),
        dict(trace="b1_ws", arm="hedged", max=row.hedged_max, sum=row.hedged_sum),
    ]


def slack_ms(row, key):
    """Agreement: within 0.1 % of the on_demand value, or sum, of the row."""
    return 0.001 * (row.on_demand_sum if key == "sum" else row.on_demand)
