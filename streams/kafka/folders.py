"""Which folder below the data folder this worker keeps its tables in.

Workers of one machine share a data folder and must not share tables, so each takes the first
`worker-<n>` that nobody has locked. After a restart that is mostly the same one, with its tables in it;
where it is another, the changelogs bring it up to date.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

from streams.kafka.errors import FolderTaken

WORKERS_MAX: Final = 256  # on one machine with one data folder


class WorkerFolder:
    """A folder that is this process's own until `release`, or until the process ends in whatever way."""

    def __init__(self, data: Path) -> None:
        try:
            data.mkdir(parents=True, exist_ok=True)
            self.path, self._lock = _first_free(data)
        except OSError as error:
            raise FolderTaken(
                f"{data} cannot hold a worker's tables: {error.strerror}. Set FACTDRIFT_DATA to a "
                "folder that can be written."
            ) from error

    def release(self) -> None:
        """Let another worker have it. Harmless when repeated."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _first_free(data: Path) -> tuple[Path, int]:
    for number in range(WORKERS_MAX):
        folder = data / f"worker-{number}"
        folder.mkdir(exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return folder, lock
    raise FolderTaken(
        f"All {WORKERS_MAX} worker folders in {data} are in use. Set FACTDRIFT_DATA to another folder."
    )
