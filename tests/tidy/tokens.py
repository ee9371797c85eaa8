"""How many tokens a text costs, counted offline with a vocabulary that ships inside a pinned package."""

import importlib.util
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer


@cache
def vocabulary() -> Tokenizer:
    """Read the tokenizer file out of the `anthropic` package, without importing the package."""
    spec = importlib.util.find_spec("anthropic")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("install the test group: it pins the package that ships tokenizer.json")
    return Tokenizer.from_file(str(Path(spec.origin).with_name("tokenizer.json")))


def count_tokens(text: str) -> int:
    """Count the tokens of a text."""
    return len(vocabulary().encode(text).ids)
