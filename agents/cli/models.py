"""What commands that write to tables share about models of vectors."""

from __future__ import annotations

from typing import Annotated

import typer

AcceptModelChange = Annotated[
    bool,
    typer.Option(
        "--accept-model-change",
        help="Go on with tables that another model of vectors built; their claims are compared anew.",
    ),
]
