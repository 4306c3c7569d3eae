"""Datasets of the Hugging Face hub. Needs huggingface_hub."""

import re
from pathlib import Path

from mvl.data.sources.reading import missing_package
from mvl.errors import MvlError

NAME = r"[\w.-]+/[\w.-]+"
"""What a name on the hub looks like: `organization/dataset`."""


def fetch(name: str, patterns: list[str]) -> Path:
    """Folder with the files of a dataset that match the patterns, downloaded unless they are in the hub's cache.

    The address of the hub, the cache and the user's token are those of `huggingface_hub` (`$HF_ENDPOINT`, `$HF_HOME`).
    """
    if not re.fullmatch(NAME, name):
        raise MvlError(f"{name} does not exist; check the path, or name a dataset of the hub as organization/dataset.")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise missing_package("datasets of the Hugging Face hub", "huggingface_hub") from None
    try:
        return Path(snapshot_download(name, repo_type="dataset", allow_patterns=patterns))
    except Exception as error:  # of the hub, of its HTTP client, or of the file system
        reason = " ".join(str(error).split())[:200]
        raise MvlError(
            f"{name} is no folder here and could not be fetched from the hub ({type(error).__name__}: {reason}); "
            "check the name, or try again where there is a network."
        ) from None
