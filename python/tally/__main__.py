# SPDX-License-Identifier: MIT
"""python -m tally: the command line's reduce, scan and window over Parquet, Arrow and Feather files.

The words are those of the command line (`tally help reduce`), and so are the errors and the exit status."""

import argparse
import os
import sys

_EXIT_DATA, _EXIT_USAGE, _EXIT_READER = 1, 2, 141

_ABOUT = {
    "reduce": "one result for each column of each FILE, or for each group",
    "scan": "every running result: row i folds rows 0..i",
    "window": "a sliding window: row i folds the last W rows",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.stderr.write(f"tally: {message}; `{self.prog} --help` lists the options\n")
        sys.exit(_EXIT_USAGE)


def _options(verb, parser):
    parser.add_argument("op", metavar="OP[,OP...]", help="operators, as `tally ops` lists them")
    parser.add_argument("files", metavar="FILE", nargs="+" if verb == "reduce" else 1, help="Parquet, Arrow or Feather")
    parser.add_argument("--column", metavar="C[,C...]", help="the columns; two are the inputs of dot, corr, ...")
    if verb == "reduce":
        parser.add_argument("--by", metavar="C[,C...]", help="rows whose cells of these columns are equal are a group")
        parser.add_argument("--sort", action="store_true", help="--by: groups in ascending order of their keys")
        parser.add_argument("--digest", action="store_true", help="print the SHA-256 of each result's bytes")
    else:
        parser.add_argument("--keep", action="store_true", help="write the file's columns too, before the results")
    if verb == "scan":
        parser.add_argument("--exclusive", action="store_true", help="row i leaves out its own element")
        parser.add_argument("--init", metavar="V", type=float, help="start from V instead of nothing")
    if verb == "window":
        parser.add_argument("-w", "--width", metavar="W", type=int, help="W rows: the row and the W - 1 before it")
        parser.add_argument("--before", metavar="B", type=int, help="the window starts B rows before its row")
        parser.add_argument("--after", metavar="A", type=int, help="the window ends A rows after its row")
        parser.add_argument("--center", action="store_true", help="half of -w or --last on each side of the row")
        parser.add_argument("--edges", choices=["missing", "shrink", "valid"], help="windows that are not full")
        parser.add_argument("--min-count", metavar="M", type=int, default=0)
        parser.add_argument("--by", metavar="C[,C...]", help="--last, --next: the column of times; groups before it")
        parser.add_argument("--last", metavar="D", help="the rows of the last D (500ms, 2s, 1h30min; or a number)")
        parser.add_argument("--next", metavar="D", help="the rows of the next D; with --last too, of both")
        parser.add_argument("--closed", choices=["right", "left", "both", "neither"], help="default: right")
        parser.add_argument("--ties", choices=["row", "all"], help="rows with the row's time: up to it, or all")
    parser.add_argument(
        "--to", choices=["text", "csv", "tsv", "parquet", "arrow"], help="default: by the ending of -o, or text"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="a file, which appears only when complete")
    parser.add_argument("--empty", metavar="WORD", help="text, csv, tsv: print WORD for a result that is NaN or null")
    parser.add_argument("--device", metavar="D", help="where to compute: auto, or a name that tally.devices() lists")
    parser.add_argument("--threads", metavar="N", type=int, help="number of threads")


def _arguments(argv):
    parser = _Parser(prog="python -m tally", description=__doc__.partition("\n\n")[0])
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    for verb, about in _ABOUT.items():
        _options(verb, verbs.add_parser(verb, help=about, description=about))
    return parser.parse_args(argv)


def main(argv=None):
    """Runs the command and gives its exit status."""
    arguments = _arguments(argv)
    try:
        from ._files import Usage, run
    except ImportError as wrong:
        sys.stderr.write(f"tally: python -m tally reads files through pyarrow and NumPy, and {wrong}\n")
        return _EXIT_DATA
    try:
        run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _EXIT_READER
    except Usage as wrong:
        sys.stderr.write(f"tally: {wrong}\n")
        return wrong.status
    except (ValueError, TypeError, OSError, OverflowError, MemoryError) as wrong:
        sys.stderr.write(f"tally: {wrong}\n")
        return _EXIT_DATA
    return 0


if __name__ == "__main__":
    sys.exit(main())
