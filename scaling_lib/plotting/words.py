"""What a figure says: title and sentence, made from the numbers that are drawn, so that neither can be wrong."""

import numpy as np

from scaling_lib.roofline import attainable_flops_per_s


def roofline_title(chips, ridges):
    if len(chips) == 1:
        return f"Below {ridges[0]:.3g} FLOP/byte the {chips[0].title} waits for bytes"
    least, most = int(np.argmin(ridges)), int(np.argmax(ridges))
    low, high = f"{ridges[least]:.3g}", f"{ridges[most]:.3g}"
    if low == high:
        return f"All wait for bytes below {low} FLOP/byte"
    return f"{chips[least].title} waits for bytes below {low} FLOP/byte, {chips[most].title} below {high}"


def ridge_title(chips, ridges):
    if len(chips) == 1:
        return f"The ridge point of the {chips[0].title} is {ridges[0]:.3g} FLOP/byte"
    return f"Ridge points differ {ridges.max() / ridges.min():.1f}-fold between chips"


def attained_title(chip, knees):
    reached = [knee for knee in knees.values() if np.isfinite(knee)]
    if not reached:
        return f"No batch lets matrices this small reach the roof of the {chip.title}"
    if len(reached) < len(knees):
        return "Small matrices never reach the roof, whatever the batch"
    if len(reached) == 1:
        return f"The roof is reached at a batch of {reached[0]:.0f}"
    return f"The roof is reached at batches from {min(reached):.0f} to {max(reached):.0f}, by the size"


def scaling_title(knee, most):
    if knee <= 1:
        return "A fixed problem gains nothing from a second chip"
    if knee < most:
        return f"A fixed problem stops gaining at {knee:.0f} chips"
    return f"A fixed problem still gains at {most:.0f} chips"


def roofline_says(chips, ridges, points, dtype, link):
    said = []
    for c, ridge in zip(chips, ridges, strict=True):
        reached = [
            f"{name} ({at:.3g} FLOP/byte) can reach {_share(c, at, dtype, link):.2g}%" for name, at in points.items()
        ]
        text = f"on {c.title} ({dtype}, {link.upper()}) the ridge is at {ridge:.0f} FLOP/byte"
        said.append(text + (": " if reached else "") + ", ".join(reached) + (" of the peak" if reached else ""))
    text = "; ".join(said) + "."
    return text[0].upper() + text[1:]


def attained_says(chip, knees, w):
    parts = [
        f"D = F = {size:.0f} reaches the roof at B = {knee:.0f}"
        if np.isfinite(knee)
        else f"D = F = {size:.0f} never reaches it"
        for size, knee in knees.items()
    ]
    return f"Matmul on {chip.title} with {w} weights: " + "; ".join(parts) + "."


def scaling_says(knee, chips, strong, weak):
    if knee <= 1:
        fixed = f"the exchange takes over at once, and the speed-up stays at {strong[-1]:.2g}"
    elif knee < chips[-1]:
        fixed = f"the speed-up follows the ideal line up to {knee:.0f} chips and stays at {strong[-1]:.0f}"
    else:
        fixed = f"the speed-up follows the ideal line to the last of {chips[-1]:.0f} chips"
    return f"Fixed problem: {fixed}; growing problem: {chips[-1]:.0f} chips do {weak[-1]:.0f} times the work of one."


def _share(chip, intensity, dtype, link):
    """Percent of the peak."""
    return 100 * attainable_flops_per_s(chip, intensity, dtype=dtype, link=link) / chip.peak_flops_per_s(dtype)
