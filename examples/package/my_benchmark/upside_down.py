"""`evaluation: {more_controls: [upside_down]}`: a control. No real edit should score below a source on its head."""

from PIL import Image

from edit_eval import ControlPicture


class UpsideDown(ControlPicture):
    """The source, upside down."""

    def picture(self, source: Image.Image) -> Image.Image:
        return source.transpose(Image.Transpose.ROTATE_180)
