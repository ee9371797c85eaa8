"""What people do about room on the disk and unfinished work, on the real command line."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop_bench import LoopBench, rule, write


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    """A campaign after two attempts that were cut short: one could be saved whole, one left a secret."""
    made = LoopBench(tmp_path, waits=())
    made.loop = '\n[disk]\noutputs = ["build"]\n'
    made.open()
    half = [write("thing.txt", "half\n"), write("build/x.o", "x" * 9000), {"exit": 1}]
    left = [write(".env", "KEY=1\n"), write("build/y.o", "y" * 9000), {"exit": 1}]
    made.rules(rule("saved", *half), rule("held", *left))
    exclude = made.repository.path / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("build/\n")
    for key in ("saved", "held"):
        made.add(key)
    made.run("--once")
    yield made
    made.close()


def shown(bench: LoopBench, *words: str) -> str:
    """Return what a command prints for people."""
    argv = [word for word in bench.argv(*words) if word != "--json"]
    done = subprocess.run([*argv, "--no-json"], env=bench.environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_f26_unfinished_work_is_found_shown_and_can_be_taken_up(bench: LoopBench) -> None:
    """F26: nothing that was saved, and nothing that could not be, is out of sight."""
    listed = bench.ask("salvage", "list")
    (saved,) = [row for row in listed["salvages"] if row["key"] == "saved"]
    (held,) = listed["trees"]
    assert (held["key"], (Path(held["path"]) / ".env").is_file()) == ("held", True)
    facts = bench.ask("salvage", "show", "saved")
    assert (facts["ref"], facts["files"]) == (saved["ref"], [{"path": "thing.txt", "change": "M"}])
    assert "UNREVIEWED" in facts["title"]
    assert bench.ask("salvage", "show", f"saved/{saved['attempt']}")["sha"] == saved["sha"]
    subprocess.run(facts["take"], shell=True, check=True)
    assert (bench.repository.path / "thing.txt").read_text() == "half\n"
    assert bench.ask("salvage", "show", "nobody", code=7)["code"] == "NO_SALVAGE"
    words = shown(bench, "salvage", "list")
    assert saved["ref"] in words
    assert f"{held['path']} stays: would lose" in words
    assert "M  thing.txt" in shown(bench, "salvage", "show", "saved")


def test_taking_a_salvage_up_keeps_what_a_person_did_meanwhile(bench: LoopBench) -> None:
    """F26: newer commits, uncommitted edits and new files stay, and what does not fit changes nothing."""
    repository = bench.repository
    newer = repository.commit({"newer.txt": "committed since\n"})
    (repository.path / "newer.txt").write_text("edited since\n")
    (repository.path / "mine.txt").write_text("not even added\n")
    take = bench.ask("salvage", "show", "saved")["take"]
    subprocess.run(take, shell=True, check=True, cwd=bench.folder)
    assert (repository.path / "thing.txt").read_text() == "half\n"
    assert repository.git("rev-parse", "HEAD") == newer
    assert (repository.path / "newer.txt").read_text() == "edited since\n"
    assert (repository.path / "mine.txt").read_text() == "not even added\n"
    (repository.path / "thing.txt").write_text("a person's own\n")
    refused = subprocess.run(take, shell=True, check=False, capture_output=True, text=True)
    assert (refused.returncode, "does not apply" in refused.stderr) == (1, True)
    assert (repository.path / "thing.txt").read_text() == "a person's own\n"


def test_f07_gc_says_first_what_would_go_and_never_takes_what_holds_work(bench: LoopBench) -> None:
    """F07, F27: by the bounds, then all, then the builds of what must stay."""
    (row,) = bench.ask("gc")["folders"]
    assert (row["goes"], row["reason"]) == (False, "it is within the bounds of age, number and room")
    told = bench.ask("gc", "--all", "--dry-run")
    (row,) = told["folders"]
    assert (told["dry_run"], row["key"], row["goes"], row["removed"]) == (True, "held", False, False)
    assert "would lose uncommitted or untracked files" in row["reason"]
    (row,) = bench.ask("gc", "--all")["folders"]
    assert (row["removed"], Path(row["path"]).is_dir()) == (False, True)
    (output,) = bench.ask("gc", "--outputs", "--dry-run")["outputs"]
    assert (Path(output["path"]).name, output["bytes"] > 8000, output["removed"]) == ("build", True, False)
    assert "KiB would be free" in shown(bench, "gc", "--outputs", "--dry-run")
    assert bench.ask("gc", "--outputs")["outputs"][0]["removed"]
    assert not Path(output["path"]).exists()
    (Path(row["path"]) / ".env").unlink()
    assert "goes" in shown(bench, "gc", "--all", "--dry-run")
    (row,) = bench.ask("gc", "--all")["folders"]
    assert (row["removed"], Path(row["path"]).exists()) == (True, False)
    assert bench.ask("gc", "--all")["folders"] == []
    assert shown(bench, "gc") == "no folders\n0 B are free now\n"


def test_an_agent_neither_clears_up_nor_reads_what_others_left(bench: LoopBench) -> None:
    """Security: what a session has of the loop is its URL and token, and those open no folder."""
    bench.environment["WORKLOOP_URL"] = "http://127.0.0.1:9"
    for words in (("gc", "--all"), ("salvage", "list"), ("salvage", "show", "saved")):
        assert bench.ask(*words, code=2)["code"] == "LOCAL_ONLY"


def test_an_unknown_target_is_refused_by_name(bench: LoopBench) -> None:
    assert "there is no target 'x'" in json.dumps(bench.ask("gc", "--target", "x", code=2))
