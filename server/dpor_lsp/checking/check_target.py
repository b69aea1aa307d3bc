"""What is checked: a model as found in its file, how, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dpor.results import CheckRequest, ModelInfo
from dpor_lsp.options import DEFAULT_HANG_TIMEOUT, DEFAULT_MEMORY_LIMIT


@dataclass(frozen=True)
class CheckTarget:
    """The model that a worker is asked about: as found in its file, its project's root, and the request."""

    info: ModelInfo
    root: Path
    request: CheckRequest

    @property
    def path(self) -> Path:
        """The absolute path of the model's file."""
        return Path(self.request.file)

    @property
    def texts(self) -> Mapping[Path, str]:
        """The texts that are used instead of files' contents, such as the buffers of an editor, by absolute path."""
        texts = {Path(path): text for path, text in self.request.overlays.items()}
        if self.request.source is not None:
            texts[self.path] = self.request.source
        return texts


@dataclass(frozen=True)
class Limits:
    """What a worker may use: seconds in all (None: no limit), seconds without progress, bytes of memory (0: any)."""

    timeout: float | None = None
    hang: float = DEFAULT_HANG_TIMEOUT
    memory: int = DEFAULT_MEMORY_LIMIT
