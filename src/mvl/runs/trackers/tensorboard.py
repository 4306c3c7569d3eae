"""TensorBoard: event files in the run's folder."""

import time
from pathlib import Path
from typing import Any

from mvl.runs.folder import Description


class TensorBoard:
    """Writes events one by one. tensorboardX's SummaryWriter would write them in a thread, whose failure blocks the program."""

    where = ""

    def start(self, run: Path, description: Description, identity: str | None, step: int) -> str:
        from tensorboardX.event_file_writer import EventsWriter

        folder = run / "tensorboard"
        folder.mkdir(exist_ok=True)
        self.where = f"look at it with: tensorboard --logdir {folder}"
        self.writer: Any = EventsWriter(str(folder / "events"), f".after-{step}")  # the suffix keeps files of one second apart
        return identity or run.name

    def log(self, step: int, row: dict[str, float]) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        self.writer.write_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))
        self.writer.flush()

    def finish(self) -> None:
        self.writer.close()
