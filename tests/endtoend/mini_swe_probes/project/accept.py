"""Asks the project's code, as a program of its own, for what a task wants of it."""

import json
import subprocess
import sys

ASKED = {
    "encode": ("mdurl.encode('a\\n\\u00fc b')", "a%0A%C3%BC%20b"),
    "format": ("mdurl.format(mdurl.parse('https://a.example/b?c#d'))", "https://a.example/b?c#d"),
}


def main(name: str) -> int:
    """Return 0 where the answer is right and 1 where it is not."""
    asked, expected = ASKED[name]
    argv = [sys.executable, "-c", f"import json, mdurl; print(json.dumps({asked}))"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    sys.stdout.write(done.stdout + done.stderr)
    return 0 if done.stdout.strip() == json.dumps(expected) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
