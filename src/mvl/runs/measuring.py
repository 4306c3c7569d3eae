"""Measurements of a run that are made once for a checkpoint and kept in its folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mvl.files import atomic, refuse_links
from mvl.runs.folder import RunFolder


def measured_once(run: Path, file: Path, measure: Callable[[Path], Any]) -> Any:
    """The JSON value in a file of the run's folder; measured now if the file is missing or older than the checkpoint.

    A run without a checkpoint, such as one from records, has only a saved value, or None.
    """
    checkpoint = RunFolder(run).checkpoint_file
    if checkpoint.exists() and not (file.exists() and file.stat().st_mtime >= checkpoint.stat().st_mtime):
        refuse_links(file)
        text = json.dumps(measure(run)) + "\n"
        with atomic(file) as partial:
            partial.write_text(text)
    return json.loads(file.read_text()) if file.exists() else None
