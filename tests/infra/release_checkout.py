"""A checkout whose release scripts call programs that write down what they were asked for."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests.infra import terraform

PLATFORM = """\
project: our-lab
registry: us-central1-docker.pkg.dev/our-images/trellis
"""

RECORD = """\
#!/bin/sh
echo "$(basename "$0") $*" >>"$RECORD"
"""

# Images are files that hold a number, one for each build: $REGISTRY/remote/ and $REGISTRY/local/.
# A tag that was pushed cannot be pushed again with another image, as in our repository.
DOCKER = (
    RECORD
    + """\
cd "$REGISTRY" && mkdir -p local remote
name() { echo "$1" | tr / _; }
case "$1" in
    manifest) [ -f "remote/$(name "$3")" ] ;;
    build)
        echo x >>builds
        while [ $# -gt 0 ]; do
            [ "$1" = --tag ] && wc -l <builds >"local/$(name "$2")"
            shift
        done ;;
    tag) cp "local/$(name "$2")" "local/$(name "$3")" ;;
    pull) cp "remote/$(name "$3")" "local/$(name "$3")" ;;
    push)
        if [ -f "remote/$(name "$2")" ] && ! cmp -s "local/$(name "$2")" "remote/$(name "$2")"; then
            echo "tag $2 is immutable" >&2
            exit 1
        fi
        cp "local/$(name "$2")" "remote/$(name "$2")" ;;
    inspect) echo "${4%:*}@sha256:$(sha256sum <"local/$(name "$4")" | cut -d' ' -f1)" ;;
    run) echo '{"spdxVersion": "SPDX-2.3"}' ;;
    buildx) echo "$6" | sha256sum | sed 's/^\\(.*\\)  -$/sha256:\\1/' ;;
esac
"""
)

GCLOUD = (
    RECORD
    + """\
case "$*" in
    *"images describe"*)
        cat "$REGISTRY/scan$(cat "$REGISTRY/looks" 2>/dev/null).json"
        echo 2 >"$REGISTRY/looks" ;;
    *asymmetric-sign*)
        for word in "$@"; do
            case "$word" in
                --input-file=*) message=${word#*=} ;;
                --signature-file=*) signature=${word#*=} ;;
            esac
        done
        openssl dgst -sha256 -sign "$REGISTRY/key.pem" -out "$signature" "$message" ;;
    *"versions describe"*) [ -d "$REGISTRY/documents/${5#*=}/$4" ] ;;
    *"generic upload"*)
        set -- $(echo "$*" | sed 's/--[a-z-]*=//g')
        mkdir -p "$REGISTRY/documents/$5" && cp -r "$4" "$REGISTRY/documents/$5/$6" ;;
    *describe*) cat "$INSTALLED" ;;
    *"storage ls"*)
        if [ -f "$REGISTRY/there" ]; then
            cat "$REGISTRY/there"
        else
            echo "ERROR: One or more URLs matched no objects." >&2
            exit 1
        fi ;;
    *"endpoints list"*)
        name=$(echo "$*" | sed 's/.*trellis-experiment=\\([^ ]*\\).*/\\1/')
        if [ -f "$REGISTRY/$name.endpoints" ]; then
            cat "$REGISTRY/$name.endpoints"
        else
            echo '[]'
        fi ;;
    *list-runs*)
        set -- $(echo "$*" | sed 's/.* -- //')
        if [ -f "$REGISTRY/$1.$3" ]; then
            cat "$REGISTRY/$1.$3"
        elif [ -f "$REGISTRY/$1" ]; then
            echo "No data found"
        else
            echo "Dag id $1 not found" >&2
            exit 1
        fi ;;
esac
"""
)

CURL = RECORD + """echo '{"access_token": "secret-token"}'\n"""

UV = RECORD + """echo "check=$UV_PUBLISH_CHECK_URL password=$UV_PUBLISH_PASSWORD" >>"$RECORD"\n"""

FILES = ("infra/cloudbuild.yaml", "tools.txt", "plugins/pyproject.toml")


class Checkout:
    """The files of a checkout that the scripts read, and the calls that they made."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.record, self.registry = folder / "record", folder / "registry"
        self.installed = folder / "installed.json"

    @classmethod
    def of_repository(cls, folder: Path) -> "Checkout":
        """Files of this repository, with programs in place of Docker's, Google's and uv."""
        made = cls(folder)
        made.registry.mkdir()
        # In place of Cloud KMS.
        pair = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out"]
        subprocess.run([*pair, made.registry / "key.pem"], check=True)
        for name in ("infra/release", "contracts", "docker", "dags"):
            shutil.copytree(terraform.ROOT / name, folder / name)
        # Of the trainer some sources are enough to tell others from.
        sources = terraform.ROOT.glob("trainer/*.py")
        for file in (*sources, *map(terraform.ROOT.joinpath, FILES)):
            copy = folder / file.relative_to(terraform.ROOT)
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(file, copy)
        (folder / "dags/platform.yaml").write_text(PLATFORM)
        programs = {"docker": DOCKER, "gcloud": GCLOUD, "curl": CURL}
        for name, text in programs.items():
            made.program(f"bin/{name}", text)
        made.program(".venv/tools/bin/uv", UV)
        (folder / "Makefile").write_text(".venv/tools/.ready:\n")
        return made

    def copy(self, folder: Path) -> "Checkout":
        """Another one, with the same registry and the calls so far."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Checkout(folder)

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(
        self, script: str, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        self.record.write_text("")
        python = Path(sys.executable).parent
        environment = {
            "PATH": f"{self.folder / 'bin'}:{python}:{os.environ['PATH']}",
            "RECORD": str(self.record),
            "REGISTRY": str(self.registry),
            "INSTALLED": str(self.installed),
            "SCAN_PAUSE": "0",
            "BUILD": "0123-abcd",
            "PROJECT": "our-lab",
            "IMAGES_PROJECT": "our-images",
            "REGION": "us-central1",
            "NAME": "trellis",
            "DAGS_BUCKET": "us-central1-trellis-0123abcd-bucket",
            "PLATFORM": "platform.yaml",
        }
        program = "bash" if script.endswith(".sh") else sys.executable
        return subprocess.run(
            [program, f"infra/release/{script}", *arguments],
            cwd=self.folder,
            env=environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def pushed(self) -> dict[str, str]:
        """The build of each tag in the registry."""
        return {
            path.name.removeprefix(
                "us-central1-docker.pkg.dev_our-images_trellis_"
            ): path.read_text()
            for path in (self.registry / "remote").glob("*")
        }

    @property
    def asked(self) -> list[str]:
        return self.record.read_text().splitlines()
