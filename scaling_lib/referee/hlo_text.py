"""HLO text (``compiled.as_text()``) read into computations and instructions, of every XLA version the book runs on."""

import graphlib
import re

from scaling_lib.referee.hlo_module import Array, Computation, HloError, Instruction, Module
from scaling_lib.referee.hlo_operations import check_operation

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.$-]+) (?:\(.*\) -> .* )?\{\s*$")
_INSTRUCTION = re.compile(r"^(ROOT )?%?([\w.$-]+) = ")
_HEADER = re.compile(r"^HloModule ([\w.$<>-]+)")
_OPERAND = re.compile(
    r"(?:(?:\([^%]*\)|[a-z][a-z0-9]*\[[^\]]*\](?:\{[^{}]*\})?) )?%?([\w.$-]+)"
)  # older XLA: shape first
_SHAPE = re.compile(r"([a-z][a-z0-9]*)\[([^\]]*)\]")
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|["()\[\]{},]', re.DOTALL)
_OPEN, _CLOSE = "([{", ")]}"


def parse_module(text):
    """Compiled HLO text as a `Module`; text that is cut off, or is not compiled HLO, is refused with the reason.

    >>> module = parse_module('''HloModule tiny, num_partitions=2
    ...
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   ROOT %y = f32[4]{0} negate(%x)
    ... }''')
    >>> module.n_devices, module.entry.root.opcode, module.entry.root.operands
    (2, 'negate', ('x',))
    """
    lines = text.splitlines()
    start, header = _header(lines)
    computations, entry, current, statement, first = {}, None, None, "", 0
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if _HEADER.match(line):
            raise HloError(f"line {number}: another HloModule begins; give one module at a time")
        if current is None:
            match = _COMPUTATION.match(line)
            if match:
                if match[2] in computations:
                    raise HloError(f"line {number}: computation %{match[2]} is defined twice")
                if match[1] and entry:
                    raise HloError(f"line {number}: a second ENTRY; a module has one")
                current = Computation(match[2])
                computations[current.name] = current
                entry = current if match[1] else entry
            elif _INSTRUCTION.match(line.strip()):
                raise HloError(f"line {number}: an instruction outside any computation: lines are missing")
            continue
        stripped = line.strip()
        closing = line.startswith("}")
        if closing or _INSTRUCTION.match(stripped):
            if statement:
                _add(current, statement, first)
            statement, first = ("", 0) if closing else (stripped, number)
            if closing:
                _check_root(current, number)
                current = None
        elif stripped:
            statement += " " + stripped  # long constants are wrapped
    if current is not None:
        raise HloError(f"the text ends inside computation %{current.name}: it was cut off")
    if entry is None:
        raise HloError("no ENTRY computation: the text was cut off")
    _check_calls(computations)
    replicas, partitions = (_count(lines[start], key) for key in ("replica_count", "num_partitions"))
    return Module(header[1], replicas, partitions, computations, entry)


def _header(lines):
    """Index and match of the line with which a module begins."""
    start = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith("//")), None)
    if start is None:
        raise HloError("the HLO text is empty")
    header = _HEADER.match(lines[start])
    if not header:
        if lines[start].lstrip().startswith("module @") or any("stablehlo." in line for line in lines):
            raise HloError("this is StableHLO, from before XLA's partitioner; give compiled.as_text() instead")
        raise HloError(f"HLO text starts with 'HloModule'; this starts with {lines[start].strip()[:60]!r}")
    return start, header


def _count(header, key):
    match = re.search(rf"\b{key}=(\d+)", header)
    return int(match[1]) if match else 1


_CALLS = {
    "calls", "to_apply", "body", "condition", "true_computation", "false_computation", "branch_computations",
    "called_computations",
}  # fmt: skip


def _check_calls(computations):
    """Every computation that is called is in the text, and none calls itself, by itself or through others."""
    graph = {}
    for computation in computations.values():
        called = graph[computation.name] = set()
        for ins in computation.instructions.values():
            for name in (name for key in _CALLS & ins.values.keys() for name in ins.callees(key)):
                if name not in computations:
                    raise HloError(
                        f"line {ins.line}: computation %{name} is called but not in the text: lines are missing"
                    )
                called.add(name)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        raise HloError(f"computation %{error.args[1][0]} calls itself: it never ends") from None


def _check_root(computation, number):
    if computation.root is None:
        raise HloError(f"line {number}: computation %{computation.name} ends without a ROOT: lines are missing")


def _add(computation, statement, number):
    try:
        instruction, is_root = _instruction(statement, number)
    except (HloError, ValueError, IndexError) as error:
        raise HloError(f"line {number}: not an HLO instruction ({error}): {statement[:80]!r}") from None
    if instruction.name in computation.instructions:
        raise HloError(f"line {number}: %{instruction.name} is defined twice in %{computation.name}")
    if is_root and computation.root:
        raise HloError(f"line {number}: a second ROOT in %{computation.name}")
    for name in instruction.operands:
        if name not in computation.instructions:
            raise HloError(
                f"line {number}: %{name} is used in %{computation.name} but not defined above: lines are missing"
            )
    _check_started(instruction, computation)
    computation.instructions[instruction.name] = instruction
    if is_root:
        computation.root = instruction


def _check_started(instruction, computation):
    """An asynchronous operation is carried on where it was started; send and recv may pass through a loop's state."""
    op, part = re.fullmatch(r"(.*?)(-update|-done)?", instruction.opcode).groups()
    if part is None or op in ("send", "recv"):
        return
    before = computation[instruction.operands[0]].opcode if instruction.operands else "nothing"
    if before not in (f"{op}-start", f"{op}-update"):
        raise HloError(
            f"line {instruction.line}: %{instruction.name}: {instruction.opcode} of {before}, not of {op}-start: "
            "what it finishes is not in the text"
        )


def _instruction(statement, number):
    head = _INSTRUCTION.match(statement)
    if not head:
        raise HloError("no name")
    rest = statement[head.end() :]
    if rest.startswith("("):
        end = _matching(rest, 0) + 1
        is_tuple = True
    else:
        end, is_tuple = _until_space(rest), False
    arrays = tuple(Array(d, _dims(s)) for d, s in _SHAPE.findall(rest[:end]))
    call = re.match(r"\s*([a-z][\w-]*)\(", rest[end:])
    if not call:
        raise HloError("no operation")
    check_operation(call[1])
    opening = end + call.end() - 1
    closing = _matching(rest, opening)
    argument = rest[opening + 1 : closing]
    attrs = rest[closing + 1 :].removeprefix(",").lstrip()
    if "devices=[" in attrs:
        _check_tiles(attrs)
    if call[1] == "parameter":
        int(argument)
    names = () if call[1] in ("constant", "parameter", "iota") else _operand_names(argument)
    instruction = Instruction(head[2], call[1], arrays, names, argument, attrs, _attributes(attrs), is_tuple, number)
    return instruction, bool(head[1])


def _attributes(text):
    values = {}
    for piece in _pieces(text):
        match = _ATTRIBUTE.match(piece)
        if not match or match[1] in values:
            raise HloError(f"no attribute, or a second of its name: {piece[:40]!r}")
        values[match[1]] = match[2].strip()
    return values


_TILES = re.compile(r"devices=\[([\d,]+)\](<=\[([\d,]+)\]|[\d,]+)")


def _check_tiles(attrs):
    """Refuse a sharding whose tiles are not as many as its devices; XLA's own parser took it and crashed much later."""
    for tiles, devices, iota in _TILES.findall(attrs):
        n = _product(tiles)
        has = _product(iota) if iota else len(devices.strip(",").split(","))
        if n != has:
            raise HloError(f"sharding devices=[{tiles}]{devices}: {n} tiles for {has} devices")


def _product(text):
    return Array("", _dims(text)).elements


def _dims(text):
    return tuple(int(d.strip().lstrip("<=")) for d in text.split(",") if d.strip())


def _operand_names(argument):
    found = [_OPERAND.fullmatch(piece) for piece in _pieces(re.sub(r"/\*.*?\*/", "", argument))]
    if None in found:
        raise HloError("an operand is one name, its shape may stand before it")
    return tuple(match[1] for match in found)


def _until_space(text):
    """End of a shape: the first blank outside brackets (layouts hold none, but be safe)."""
    depth = 0
    for k, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if char == " " and depth == 0:
            return k
    raise HloError("it is cut off")


def _marks(text, start=0):
    """(index, character, open brackets) of each bracket and comma from `start` on; quoted text is passed over."""
    depth = 0
    for match in _MARK.finditer(text, start):
        char = match[0]
        if char == '"':
            raise HloError("it is cut off inside quotes")
        if len(char) == 1:
            depth += (char in _OPEN) - (char in _CLOSE)
            yield match.start(), char, depth


def _matching(text, opening):
    """Index of the bracket that closes the one at `opening`."""
    for k, _, depth in _marks(text, opening):
        if depth == 0:
            return k
    raise HloError("it is cut off")


def _pieces(text):
    """Text between the commas that stand outside brackets and quotes; blanks round each are cut away."""
    start, depth, pieces = 0, 0, []
    for k, char, depth in _marks(text):
        if char == "," and depth == 0:
            pieces.append(text[start:k].strip())
            start = k + 1
        elif depth < 0:
            break
    pieces.append(text[start:].strip())
    if depth or (len(pieces) > 1 and "" in pieces):
        raise HloError("brackets do not match, or nothing stands between two commas")
    return pieces if pieces[0] else []
