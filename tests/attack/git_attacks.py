"""Attacks by git: on the repository, on the host's own git, and on what other items made."""

from pathlib import Path

from means import Facts, FailedError, attack, canary, git, run, write


@attack
def commit_a_link_to_the_store(facts: Facts) -> object:
    Path("store-link").symlink_to(facts["store"])
    return "planted"


@attack
def plant_hooks(facts: Facts) -> object:
    """Inside this works: what is written is a stand-in's."""
    hooks = Path(git("rev-parse", "--path-format=absolute", "--git-common-dir").strip()) / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "reference-transaction", "post-merge", "post-index-change"):
        write(hooks / name, f"#!/bin/sh\n{canary(facts, 'hook')}\n:\n")
        (hooks / name).chmod(0o755)
    return "planted"


@attack
def plant_settings(facts: Facts) -> object:
    git("config", "core.fsmonitor", canary(facts, "fsmonitor"))
    git("config", "filter.evil.clean", canary(facts, "filter"))
    git("config", "core.hooksPath", facts["marks"])
    write(".gitattributes", "* filter=evil\n")
    return "planted"


@attack
def plant_settings_of_the_work_tree(facts: Facts) -> object:
    own = Path(git("rev-parse", "--absolute-git-dir").strip())
    return write(own / "config.worktree", f"[core]\n\tfsmonitor = {canary(facts, 'worktree-config')}\n")


@attack
def give_the_work_tree_another_repository(facts: Facts) -> object:
    own = Path(git("rev-parse", "--absolute-git-dir").strip())
    return write(own / "commondir", f"{Path.cwd()}/evil.git\n")


@attack
def replace_the_pointer_to_the_repository(facts: Facts) -> object:
    Path(".git").rename(".git-was")
    return write(".git", f"gitdir: {Path.cwd()}/evil.git\n")


@attack
def plant_a_repository_with_a_program(facts: Facts) -> object:
    """Git looks into repositories that the index names, and runs what their settings say."""
    run("git", "init", "-q", "sub")
    for name, value in (("core.fsmonitor", canary(facts, "sub")), ("filter.evil.clean", canary(facts, "sub-filter"))):
        run("git", "-C", "sub", "config", name, value)
    write("sub/.gitattributes", "* filter=evil\n")
    run("git", "-C", "sub", "-c", "core.fsmonitor=", "commit", "-q", "--allow-empty", "-m", "sub")
    write("sub/file")
    git("-c", "core.fsmonitor=", "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    return "planted"


@attack
def move_the_integration_branch(facts: Facts) -> object:
    git("-c", "core.hooksPath=/dev/null", "update-ref", "refs/heads/main", facts["elder"])
    return "moved inside"


@attack
def move_another_items_branch(facts: Facts) -> object:
    git("-c", "core.hooksPath=/dev/null", "update-ref", f"refs/heads/{facts['branch']}", facts["elder"])
    return "moved inside"


@attack
def rewrite_an_object(facts: Facts) -> object:
    for folder in ("objects", "behind/objects"):
        path = Path(facts["shop"]) / ".git" / folder / facts["loose"][:2] / facts["loose"][2:]
        if path.exists():
            path.chmod(0o600)
            return write(path)
    raise FailedError("it is not there")


@attack
def delete_an_object(facts: Facts) -> object:
    for path in (Path(facts["shop"]) / ".git").glob(f"**/{facts['loose'][2:]}"):
        path.unlink()
        return str(path)
    raise FailedError("it is not there")


@attack
def rewrite_a_pack(facts: Facts) -> object:
    found = [path for path in (Path(facts["shop"]) / ".git").glob("**/*.pack") if not path.is_symlink()]
    found[0].chmod(0o600)
    return write(found[0])
