"""A folder of images: which files are of which class and split, and what is left out."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from trellis.new import dicom, kinds, masks, signs
from trellis.new.described import IMAGE_SUFFIXES, DataError, Note
from trellis.workflow.spec.problems import GUIDE
from trellis.workflow.validation.class_names import folded

_SYSTEM = ("__MACOSX", "Thumbs.db", "desktop.ini", "ehthumbs.db", "@eaDir", "$RECYCLE.BIN")
# A folder of DICOM files may have an index of them, which is a DICOM file itself (PS3.10, 8.6).
_INDEX = "DICOMDIR"
_CONVERT = "convert them to PNG (16 bits keep their depth)"
_OTHERS = {
    (".nii", ".nii.gz", ".mha", ".mhd", ".nrrd", ".mgz", ".img"): (
        "volumes (NIfTI and the like)",
        "volumes are not learned as such: write their slices as images, as "
        "docs/how-to/image-files.md says under Volumes",
    ),
    (".svs", ".ndpi", ".czi", ".lif", ".nd2", ".vsi", ".scn", ".mrxs"): (
        "slides of a microscope",
        "write tiles of them as PNG",
    ),
    (".heic", ".heif", ".avif", ".jp2", ".jxl", ".psd", ".svg", ".pdf", ".webm"): (
        "other images",
        "convert them to PNG or JPEG",
    ),
    (".cr2", ".nef", ".arw", ".dng", ".raw"): ("raw photographs", "convert them to PNG"),
    (".npy", ".npz", ".h5", ".hdf5", ".mat", ".pt"): ("arrays", _CONVERT),
    (".tfrecord",): (
        "TFRecords",
        "name the files themselves, FOLDER/*: a row for each record, images included",
    ),
    (".mp4", ".avi", ".mov", ".mkv"): ("videos", "write their frames as PNG"),
    (".wav", ".mp3", ".flac", ".ogg"): ("sound", f"no task learns it ({GUIDE})"),
    (".csv", ".tsv", ".parquet", ".xlsx"): (
        "tables",
        "name the table itself, or with --table beside the folder whose images it names",
    ),
}
_KNOWN = {suffix for suffixes in _OTHERS for suffix in suffixes}
_FOLD = re.compile(r"(k?fold|cv)[_ -]?\d+", re.I)


@dataclass(frozen=True)
class Image:
    """split: train, validation or test if the folders say it, else None. mask: the file that is the
    label; then the label is "".
    """

    file: Path
    label: str
    split: str | None = None
    mask: Path | None = None


@dataclass(frozen=True)
class Folder:
    """images: in order of their names. notes: what was left out, and how many of it."""

    images: list[Image]
    notes: tuple[Note, ...]


def read(folder: Path) -> Folder:
    """The images in FOLDER/CLASS/..., or FOLDER/SPLIT/CLASS/...; or those in FOLDER/images with
    their masks in FOLDER/masks, or in both of FOLDER/SPLIT. Raises DataError.
    """
    found, left, others = _images(folder)
    if paired := _with_masks(folder, found):
        return replace(paired, notes=(*_left_out(left, others), *paired.notes))
    found = _without_masks(found, left)
    loose = [file for file in found if file.parent == folder]
    inside = [file for file in found if file.parent != folder]
    if loose and inside:
        left["images in no folder of a class"] += len(loose)
    if not inside:
        raise _no_classes(folder, loose, others)
    tops = {file.relative_to(folder).parts[0] for file in inside}
    _check_layout(folder, tops, inside)
    split_names = {top: signs.split_of(top) for top in tops}
    if all(split_names.values()):
        images = _of_splits(folder, inside, split_names)
    else:
        images = [Image(file, file.relative_to(folder).parts[0]) for file in inside]
    _check_classes(folder, images)
    notes = [*_left_out(left, others), *_of_folders_below(folder, images)]
    return Folder(images, tuple(notes))


def _with_masks(folder: Path, found: list[Path]) -> Folder | None:
    """The images that have masks; None if none have."""
    of_both, notes = masks.pairs(folder, found)
    if not of_both:
        return None
    tops = {file.relative_to(folder).parts[0] for file in of_both}
    names = {top: signs.split_of(top) for top in tops}
    images = [
        Image(file, "", names[file.relative_to(folder).parts[0]], mask)
        for file, mask in sorted(of_both.items())
    ]
    if any(names.values()):
        _check_splits(folder, names, "images/IMAGE.png")
    return Folder(images, tuple(notes))


def files(folder: Path) -> tuple[list[Path], list[Note]]:
    """All images in a folder and those below, wherever they are, in order of their names; and what
    is left out. Raises DataError if there are none.
    """
    found, left, others = _images(folder)
    if not found:
        raise _others_alone(folder, others) or DataError(
            f"{folder} has no images; read are {', '.join(IMAGE_SUFFIXES)}"
        )
    return found, _left_out(left, others)


def _images(folder: Path) -> tuple[list[Path], Counter[str], Counter[str]]:
    """The images in a folder, and numbers of what is left out: by the reason, by the suffix."""
    left: Counter[str] = Counter()
    others: Counter[str] = Counter()
    found = [file for file in _files(folder, left) if _is_image(file, left, others)]
    return found, left, others


def _left_out(left: Counter[str], others: Counter[str]) -> list[Note]:
    notes = [Note("left out", f"{count:,} {what}") for what, count in sorted(left.items())]
    return notes + [
        Note("left out", f"{count:,} {suffix or 'other'} files")
        for suffix, count in sorted(others.items())
    ]


def _files(folder: Path, left: Counter[str]) -> Iterator[Path]:
    """Every file below the folder, in order; hidden ones and those of systems are counted."""

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}") from None

    root = folder.resolve()
    seen = {root, *root.parents}
    for path, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        kept = []
        for name in sorted(folders):
            inner = Path(path, name)
            if _is_system(name):
                left["hidden and system files"] += sum(len(n) for *_, n in os.walk(inner))
            elif inner.resolve() in seen:
                left["links to a folder above, or to one seen before"] += 1
            else:
                seen.add(inner.resolve())
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            if _is_system(name):
                left["hidden and system files"] += 1
            else:
                yield Path(path, name)


def _is_system(name: str) -> bool:
    return name.startswith(".") or name in (*_SYSTEM, _INDEX)


def _is_image(file: Path, left: Counter[str], others: Counter[str]) -> bool:
    suffix = ".nii.gz" if file.name.lower().endswith(".nii.gz") else file.suffix.lower()
    suffix = ".tfrecord" if kinds.is_records(file) else suffix
    if suffix not in IMAGE_SUFFIXES and (suffix in _KNOWN or not _is_dicom(file)):
        others[suffix] += 1
        return False
    try:
        file.name.encode()
        size = file.stat().st_size
    except UnicodeEncodeError:
        raise DataError(f"{os.fsencode(file)!r}: the name is not in UTF-8; rename it") from None
    except OSError:
        left["links to files that are not there"] += 1
        return False
    if not os.access(file, os.R_OK):
        raise DataError(f"{file} cannot be read: permission denied")
    if any(character in str(file) for character in "\r\n"):
        raise DataError(f"{str(file)!r}: a name with a line break; rename it")
    if size == 0:
        left["empty files (0 bytes)"] += 1
    return size > 0


def _is_dicom(file: Path) -> bool:
    """Return whether the file begins as DICOM (PS3.10, 7.1): scanners name files by numbers."""
    try:
        with file.open("rb") as opened:
            return dicom.is_dicom(opened.read(dicom.START))
    except OSError:
        return False


def _without_masks(found: list[Path], left: Counter[str]) -> list[Path]:
    """Leave out NAME_mask.png beside NAME.png."""
    stems = {(file.parent, file.stem) for file in found}
    kept = []
    for file in found:
        named = masks.MASK_FILE.fullmatch(file.stem)
        if named and (file.parent, named.group(1)) in stems:
            left[
                "masks beside their images (NAME_mask); to learn them, move the images to images/ "
                "and the masks to masks/"
            ] += 1
        else:
            kept.append(file)
    return kept


def _no_classes(folder: Path, loose: list[Path], others: Counter[str]) -> DataError:
    """Explain why the folders have no classes to learn."""
    if found := _others_alone(folder, others):
        return found
    if loose:
        return DataError(
            f"{folder} has {len(loose):,} images and no folders of classes: expected "
            f"{folder}/CLASS/IMAGE.png; if a table has their names and classes, add it with --table"
        )
    types = ", ".join(f"{count:,} {suffix or 'without one'}" for suffix, count in others.items())
    return DataError(
        f"{folder} has no images in folders of classes ({folder}/CLASS/IMAGE.png); "
        f"{f'it has files of other types: {types}; ' if others else ''}read are "
        f"{', '.join(IMAGE_SUFFIXES)}"
    )


def _others_alone(folder: Path, others: Counter[str]) -> DataError | None:
    """Explain what to do with the files of a folder that has no images; None if nothing is known
    of them.
    """
    for suffixes, (what, remedy) in _OTHERS.items():
        if count := sum(others[suffix] for suffix in suffixes):
            named = ", ".join(suffix for suffix in suffixes if others[suffix])
            return DataError(
                f"{folder} has {count:,} files of {what} ({named}), which are not read: {remedy}. "
                f"Read are {', '.join(IMAGE_SUFFIXES)}"
            )
    return None


def _check_annotated(folder: Path, tops: set[str]) -> None:
    """Raises DataError for images beside masks, boxes or the like, of all, or of each split or
    class.
    """
    for above in (folder, *(folder / top for top in sorted(tops))):
        # Annotations may be texts, in a folder without an image.
        images, annotations = masks.folders_of(above)
        if annotations and images:
            raise DataError(
                f"{above} has images ({', '.join(images)}) beside annotations "
                f"({', '.join(annotations)}): Trellis learns masks, of one folder masks/ beside "
                f"one images/ with equal names in {folder}, and no detection; "
                f"{GUIDE} says what to do instead. To classify the images, sort them into a folder "
                "for each class"
            )


def _check_layout(folder: Path, tops: set[str], files: list[Path]) -> None:
    """Raises DataError for folders that are no classes."""
    _check_annotated(folder, tops)
    if all(_FOLD.fullmatch(top) for top in tops):
        raise DataError(
            f"the folders in {folder} are folds ({', '.join(sorted(tops))}), not classes: join the "
            "folds of each class in one folder; Trellis divides them itself"
        )
    splits = sorted(top for top in tops if signs.split_of(top))
    if 1 < len(splits) < len(tops):
        others = sorted(tops - set(splits))
        raise DataError(
            f"{folder} has folders of splits ({', '.join(splits)}) beside others "
            f"({', '.join(others)}): move either of them elsewhere"
        )
    inner = {p[1] for f in files if len(p := f.relative_to(folder).parts) > 2}
    if len(inner) > 1 and all(map(signs.split_of, inner)) and not splits:
        raise DataError(
            f"{folder} has splits ({', '.join(sorted(inner))}) in the folders of classes: move "
            f"them above, {folder}/train/CLASS/IMAGE.png"
        )


def _of_splits(folder: Path, files: list[Path], names: dict[str, str | None]) -> list[Image]:
    """The images of FOLDER/SPLIT/CLASS/...: the folders' split is kept."""
    images = []
    for file in files:
        parts = file.relative_to(folder).parts
        if len(parts) < 3:
            raise DataError(
                f"{file}: an image of the split {parts[0]} in no folder of a class; expected "
                f"{folder}/{parts[0]}/CLASS/IMAGE.png. If the images of {parts[0]} have no "
                f"classes, name the folder that has them: trellis new experiment {folder}/FOLDER"
            )
        images.append(Image(file, parts[1], names[parts[0]]))
    _check_splits(folder, names, "CLASS/IMAGE.png")
    learned = {image.label for image in images if image.split == "train"}
    if unknown := sorted({image.label for image in images} - learned):
        raise DataError(
            f"{folder}: no image of {', '.join(unknown)} is in the train split: add some, or "
            "remove the others"
        )
    return images


def _check_splits(folder: Path, names: dict[str, str | None], inside: str) -> None:
    """Raises DataError if a split has no folder. names: split by folder. inside: of a split."""
    absent = [s for s in ("train", "validation", "test") if s not in names.values()]
    if absent:
        whole = next((n for n in names if names[n] == "train"), min(names))
        raise DataError(
            f"{folder} has the splits {', '.join(sorted(names))}, and none for "
            f"{' and '.join(absent)}: add it, {folder}/{absent[0]}/{inside}, or name one "
            f"folder alone ({folder}/{whole}), whose images Trellis divides itself"
        )


def _check_classes(folder: Path, images: list[Image]) -> None:
    names = sorted({image.label for image in images})
    spelled: dict[str, str] = {}
    for name in names:
        same = folded(name)
        if same in spelled:
            raise DataError(
                f"{folder}: the folders '{spelled[same]}' and '{name}' differ in case, blanks or "
                "accents' encoding alone: join them, or give them other names"
            )
        spelled[same] = name
    if len(names) < 2:
        depth = len(images[0].file.relative_to(folder).parts)
        inner = (
            f"; the classes may be in {folder / names[0]}: name that folder" if depth > 2 else ""
        )
        raise DataError(
            f"{folder} has images of one class, '{names[0]}'; expected two or more folders, "
            f"{folder}/CLASS/IMAGE.png{inner}"
        )


def _of_folders_below(folder: Path, images: list[Image]) -> list[Note]:
    """Folders in those of the classes: whose they are is not known."""
    depth = 3 if images[0].split else 2
    below = {
        parent
        for image in images
        if len((parent := image.file.relative_to(folder).parent).parts) >= depth
    }
    if not below:
        return []
    text = (
        f"{len(below):,} folders in those of classes; if each is a patient or the like, a manifest "
        "with it as third field keeps its images in one split"
    )
    return [Note("not used", text)]
