"""Orders of chips in which each is next to the one before: snakes and rings through a box."""

import itertools


def ring_order(lengths, wraps):
    """Chips of a box in an order that goes from neighbour to neighbour, closed into a ring where one exists.

    One axis is walked from end to end, which is a ring if it wraps. Over several axes the first all but one are
    walked as a snake, and a ring goes out along the rows of (snake × last axis) and home through the first column;
    that takes an even number of rows or columns. Where both are odd the snake stays open.

    Returns:
      Coordinates, one tuple a chip.

    >>> ring_order((2, 2), (False, False))
    [(0, 0), (0, 1), (1, 1), (1, 0)]
    >>> ring_order((4,), (True,))
    [(0,), (1,), (2,), (3,)]
    """
    long = [i for i, n in enumerate(lengths) if n > 1]
    if len(long) < 2:
        return list(itertools.product(*map(range, lengths)))
    *first, last = long
    rows = snake([lengths[i] for i in first])
    columns = range(lengths[last])
    if len(rows) % 2 == 0:
        grid = _cycle(len(rows), len(columns))
    elif len(columns) % 2 == 0:
        grid = [(row, column) for column, row in _cycle(len(columns), len(rows))]
    else:
        grid = snake([len(rows), len(columns)])
    order = []
    for row, column in grid:
        chip = [0] * len(lengths)
        for axis, x in zip(first, rows[row], strict=True):
            chip[axis] = x
        chip[last] = column
        order.append(tuple(chip))
    return order


def snake(lengths):
    """All chips of a box, each next to the one before: every row is walked the other way round.

    >>> snake([2, 3])
    [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1), (1, 0)]
    """
    if not lengths:
        return [()]
    rest = snake(lengths[1:])
    return [(x, *tail) for x in range(lengths[0]) for tail in (rest if x % 2 == 0 else rest[::-1])]


def _cycle(rows, columns):
    """A ring through a grid with an even number of rows: out along columns 1 and up, home down column 0."""
    if columns == 1:
        return [(row, 0) for row in range(rows)]
    out = [(row, 1 + column) for row, column in snake([rows, columns - 1])]
    return [(0, 0), *out, *((row, 0) for row in range(rows - 1, 0, -1))]
