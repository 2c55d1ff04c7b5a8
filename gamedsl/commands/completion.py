"""`gamedsl completion`: the script by which a shell completes commands, flags and names."""

from __future__ import annotations

import argparse
import sys

from gamedsl.cli import CLEAN, USAGE
from gamedsl.commands._streams import print_document
from gamedsl.extras import missing

HELP = (
    "Print the script by which a shell completes what you type: commands, flags, choices, the "
    "names of shipped games, settings."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    parser.epilog = (
        'bash:  eval "$(gamedsl completion bash)"              in ~/.bashrc\n'
        'zsh:   eval "$(gamedsl completion zsh)"               in ~/.zshrc, behind compinit\n'
        "fish:  gamedsl completion fish | source               in ~/.config/fish/config.fish"
    )


def run(args: argparse.Namespace) -> int:
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        print(f"gamedsl completion: {missing('argcomplete', 'completion')}", file=sys.stderr)
        return USAGE
    print_document(shellcode(["gamedsl"], shell=args.shell))
    return CLEAN
