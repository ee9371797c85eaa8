"""Which module imports which at load time and at all, read from the source text alone."""

import ast
from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple


class Imports(NamedTuple):
    """What a module imports: while it loads, and anywhere in it; and the texts that could name a module."""

    at_load: frozenset[str]
    anywhere: frozenset[str]
    texts: frozenset[str]


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a file below a source root."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_imports(text: str) -> Imports:
    """Read what a source text imports; a name from a package may be a module of it."""
    tree = ast.parse(text)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return Imports(
        at_load=frozenset(name for node in loading(tree.body) for name in names(node)),
        anywhere=frozenset(name for node in ast.walk(tree) for name in names(node)),
        texts=frozenset(texts),
    )


def loading(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run while a module loads; those for the type checker do not."""
    for node in body:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=rest):
                yield from loading(rest)
            case ast.If(body=inner, orelse=rest) | ast.Try(body=inner, orelse=rest):
                yield from loading(inner)
                yield from loading(rest)
            case ast.ClassDef(body=inner) | ast.With(body=inner):
                yield from loading(inner)
            case _:
                yield node


def names(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a statement may import."""
    match node:
        case ast.Import(names=entries):
            yield from (entry.name for entry in entries)
        case ast.ImportFrom(module=str(module), names=entries):
            yield from (f"{module}.{entry.name}" for entry in entries)
        case _:
            return


def resolved(found: Collection[str], modules: Collection[str]) -> set[str]:
    """Return the modules that imported names mean: the name itself, or the module that it is taken from."""
    near = {name if name in modules else name.rpartition(".")[0] for name in found}
    return near & set(modules)


def read_tree(root: Path) -> dict[str, Imports]:
    """Read every module below a source root by its dotted name."""
    return {module_name(path, root): read_imports(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}


def cycle(modules: Mapping[str, Imports]) -> list[str]:
    """Return modules that import each other while they load, or nothing."""
    graph = {name: resolved(imports.at_load, modules) - {name} for name, imports in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def unused(modules: Mapping[str, Imports], users: Mapping[str, Imports], entries: Collection[str]) -> list[str]:
    """Return modules that nothing else imports or names, among themselves or, for shipped test parts, by users."""
    used = set(entries)
    for name, imports in modules.items():
        used |= (resolved(imports.anywhere, modules) | imports.texts) - {name}
    for imports in users.values():
        used |= {name for name in resolved(imports.anywhere, modules) if ".testing." in name}
    packages = {name.rpartition(".")[0] for name in modules}
    return sorted(modules.keys() - used - packages)
