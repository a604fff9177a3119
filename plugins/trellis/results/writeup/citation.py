"""The BibTeX entry for the software."""

from trellis.results.writeup.facts import Facts


def text(f: Facts) -> str:
    """The entry of the version of Trellis that planned the run."""
    year = f.plan.created[:4]
    return "\n".join(
        [
            f"@software{{trellis_{f.version.replace('.', '_')},",
            "  title = {Trellis: scheduled research training on Google Cloud},",
            "  author = {{The authors of Trellis}},",
            f"  version = {{{f.version}}},",
            f"  year = {{{year}}},",
            f"  note = {{Trainer's code: SHA-256 {f.board.provenance.code_sha256}}},",
            "}",
        ]
    )
