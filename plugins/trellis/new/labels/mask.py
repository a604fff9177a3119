"""Labels that are masks: a column of addresses beside one of images."""

from trellis.new.described import DataError
from trellis.new.labels import form
from trellis.new.labels.form import Found
from trellis.new.masks import MASK_FOLDER
from trellis_contracts.tasks import SEGMENTATION


class Form(form.LabelForm):
    """See the module."""

    def find(self, rows, label, task):
        if task not in (None, SEGMENTATION):
            return None
        addresses = [column for column in rows.columns if column.addresses]
        if label is not None:
            named = form.named(rows, label)
            found = [named] if named in addresses and len(addresses) > 1 else []
        else:
            found = [column for column in addresses if MASK_FOLDER.fullmatch(column.name.lower())]
        if len(found) == 1 and len(addresses) > 1:
            return Found(found[0], SEGMENTATION, f"{found[0].name} has the addresses of masks")
        if task == SEGMENTATION:
            raise DataError(
                f"{rows.address} has no column of masks beside one of images: a {SEGMENTATION} "
                "learns from two columns of addresses, gs://BUCKET/OBJECT; name that of the masks "
                "with --label"
            )
        return None
