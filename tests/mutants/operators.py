"""Mutants by operators on the syntax tree: small slips that could stand at any place of a module."""

import ast
import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.mutants.mutant import PACKAGES, ROOT, Mutant

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SIGNS: Final[dict[type[ast.operator], type[ast.operator]]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}

Slip = tuple[str, ast.AST]
"""What was done, and the node that stands there now."""


def _comparison(node: ast.AST) -> Iterator[Slip]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        changed = copy.deepcopy(node)
        changed.ops[0] = _COMPARISONS[type(node.ops[0])]()
        yield "another comparison", changed


def _constant(node: ast.AST) -> Iterator[Slip]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "the opposite", ast.Constant(value=not node.value)
        elif isinstance(node.value, int):
            yield "one more", ast.Constant(value=node.value + 1)


def _boolean(node: ast.AST) -> Iterator[Slip]:
    if isinstance(node, ast.BoolOp):
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and for or", changed
        yield "a clause less", node.values[0] if len(node.values) == 2 else _shorter(node)


def _shorter(node: ast.BoolOp) -> ast.BoolOp:
    return ast.BoolOp(op=node.op, values=node.values[:-1])


def _sign(node: ast.AST) -> Iterator[Slip]:
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        yield "the other sign", ast.BinOp(left=node.left, op=_SIGNS[type(node.op)](), right=node.right)


def _condition(node: ast.AST) -> Iterator[Slip]:
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        changed = copy.deepcopy(node)
        changed.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        yield "the condition negated", changed


def _statement(node: ast.AST) -> Iterator[Slip]:
    is_docstring = (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    if isinstance(node, ast.Expr | ast.AugAssign) and not is_docstring:
        yield "a statement less", ast.Pass()
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
        yield "a statement less", ast.Pass()
    if isinstance(node, ast.Continue):
        yield "break", ast.Break()


def _returned(node: ast.AST) -> Iterator[Slip]:
    if isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        yield "None returned", ast.Return(value=ast.Constant(value=None))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _arguments(node: ast.AST) -> Iterator[Slip]:
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return
    first, second, *_ = node.args
    if (
        isinstance(first, ast.Starred)
        or isinstance(second, ast.Starred)
        or ast.dump(first) == ast.dump(second)
    ):
        return
    changed = copy.deepcopy(node)
    changed.args[0], changed.args[1] = changed.args[1], changed.args[0]
    yield "arguments swapped", changed


OPERATORS: Final[tuple[Callable[[ast.AST], Iterator[Slip]], ...]] = (
    _comparison,
    _constant,
    _boolean,
    _sign,
    _condition,
    _statement,
    _returned,
    _arguments,
)


def slips(package: str) -> list[Mutant]:
    """Every slip at every place of the package, sorted by file and line."""
    folder, tests = PACKAGES[package]
    return [
        mutant for path in sorted((ROOT / folder).rglob("*.py")) for mutant in _of_file(package, path, tests)
    ]


def sample(package: str, number: int, seed: str) -> list[Mutant]:
    """Some of the slips, the same for the same seed."""
    mutants = slips(package)
    return random.Random(f"{seed} {package}").sample(mutants, min(number, len(mutants)))


def _of_file(package: str, path: Path, tests: tuple[str, ...]) -> Iterator[Mutant]:
    text = path.read_text()
    file = path.relative_to(ROOT).as_posix()
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    raw = text.encode()
    for node in _places(ast.parse(text)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        for operator in OPERATORS:
            for name, changed in operator(node):
                replacement = _unparsed(changed, isinstance(node, ast.expr), node.col_offset)
                yield Mutant(
                    package=package,
                    name=f"{file.rpartition('/')[2]}:{node.lineno}:{node.col_offset} {name}",
                    file=file,
                    # The whole file, so that the text to find is there once.
                    find=text,
                    replace=(raw[:start] + replacement.encode() + raw[end:]).decode(),
                    wrong=f"{name}: {raw[start:end].decode().splitlines()[0]}",
                    tests=tests,
                )


def _places(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Statements and expressions of functions; annotations, decorators, docstrings and asserts stay."""
    waiting: list[ast.AST] = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inner = {id(child) for each in waiting for child in ast.walk(each) if child is not each}
    waiting = [statement for each in waiting if id(each) not in inner for statement in each.body]  # type: ignore[attr-defined]
    places: list[ast.expr | ast.stmt] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Assert | ast.JoinedStr | ast.Raise | ast.FormattedValue):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting.extend(node.body)
            continue
        if isinstance(node, ast.AnnAssign):
            waiting.extend([node.value] if node.value is not None else [])
            continue
        if isinstance(node, ast.expr | ast.stmt):
            places.append(node)
        waiting.extend(ast.iter_child_nodes(node))
    yield from sorted(places, key=lambda node: (node.lineno, node.col_offset, type(node).__name__))


def _unparsed(node: ast.AST, is_expression: bool, indent: int) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    if is_expression:
        return f"({text})"
    first, *rest = text.splitlines()
    return "\n".join([first, *(" " * indent + line for line in rest)])
