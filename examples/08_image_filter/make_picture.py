#!/usr/bin/env python3
"""Paints roof.ppm: a roof of overlapping tiles under an evening sky, all of it computed here."""

import math

WIDTH, HEIGHT = 288, 208
HORIZON = 52  # the roof's ridge
TILE_WIDTH, TILE_HEIGHT = 26.0, 34.0
LIGHT = (-0.55, -0.45, 0.70)  # from where the sun shines: left, above, in front


def noise(x, y):
    """The same number in [0, 1) for the same place, with no pattern in it."""
    n = (x * 374761393 + y * 668265263) & 0xFFFFFFFF
    n = ((n ^ (n >> 13)) * 1274126177) & 0xFFFFFFFF
    return ((n ^ (n >> 16)) & 0xFFFF) / 65536


def mix(a, b, t):
    return tuple(p + (q - p) * t for p, q in zip(a, b))


def sky(x, y):
    color = mix((70, 96, 150), (250, 190, 130), (y / HORIZON) ** 1.4)
    distance = math.hypot(x - 210, (y - 34) * 1.05)
    glow = math.exp(-distance / 18)
    color = mix(color, (255, 236, 190), min(1.0, 1.3 * glow))
    return (255, 246, 222) if distance < 9 else color


def tile(x, y):
    # Rows widen towards the viewer; every second one is moved by half a tile.
    depth = y - HORIZON
    row = int(depth / TILE_HEIGHT * (1 + 0.1 * math.sin(depth / 60)))
    along = depth / TILE_HEIGHT * (1 + 0.1 * math.sin(depth / 60)) - row
    place = x / TILE_WIDTH + 0.5 * (row % 2)
    column = math.floor(place)
    across = 2 * (place - column) - 1
    # A half cylinder, a little lower at its far end, where the next tile lies over it.
    height = math.sqrt(max(0.0, 1 - across * across))
    normal = (across, -0.25, height + 0.1)
    length = math.sqrt(sum(n * n for n in normal))
    light = max(0.0, sum(n * d for n, d in zip(normal, LIGHT)) / length)
    shade = 0.30 + 0.80 * light
    if along < 0.22 * height + 0.06:  # the shadow of the tile above
        shade *= 0.50 + 1.6 * along
    if along > 0.94:  # the lip of the tile
        shade *= 1.18
    age = noise(column, row)
    color = mix((196, 92, 58), (142, 66, 48), age)
    if noise(column * 7 + 3, row * 5 + 1) > 0.86:
        color = mix(color, (112, 118, 70), 0.55)  # moss
    grain = 0.92 + 0.16 * noise(x, y)
    return tuple(c * shade * grain for c in color)


def main():
    pixels = bytearray()
    for y in range(HEIGHT):
        for x in range(WIDTH):
            edge = HORIZON + 2 * math.sin(x / 9)
            color = sky(x, y) if y < edge else tile(x, y)
            pixels += bytes(max(0, min(255, round(c))) for c in color)
    with open("roof.ppm", "wb") as file:
        file.write(f"P6\n{WIDTH} {HEIGHT}\n255\n".encode() + pixels)


if __name__ == "__main__":
    main()
