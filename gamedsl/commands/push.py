"""`gamedsl push`: writes a run as a model card folder, and uploads it where `--to` says so.

Writing needs no network. The token of an upload is the one that huggingface_hub finds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, PROBLEMS, USAGE

HELP = (
    "Write a run as a model card folder for the Hugging Face Hub, with its plays as a data set "
    "beside it; with --to, upload both."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="a run folder")
    place = parser.add_argument_group("where it goes")
    place.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER",
        help="the folder to write (default: RUN with -card after it)",
    )  # fmt: skip
    place.add_argument(
        "--to", metavar="USER/NAME",
        help="upload the model by this name, and the plays as NAME-plays; the token is in "
        "HF_TOKEN, or where `hf auth login` put it",
    )  # fmt: skip
    place.add_argument("--private", action="store_true", help="with --to: for you alone")


def run(args: argparse.Namespace) -> int:
    from gamedsl.api.model_card import upload, write_card
    from gamedsl.errors import UserError

    if args.private and args.to is None:
        print("gamedsl push: --private is for --to", file=sys.stderr)
        return USAGE
    folder = args.run_folder
    out = args.output or folder.with_name(f"{folder.resolve().name}-card")
    try:
        written = write_card(folder, out)
        print(f"{out}: {len(written)} files; {out / 'model' / 'README.md'} is the card")
        if args.to is not None:
            for address in upload(out, args.to, private=args.private):
                print(address)
    except (UserError, ImportError) as error:
        print(f"gamedsl push: {error}", file=sys.stderr)
        return USAGE if not out.exists() else PROBLEMS
    return CLEAN
