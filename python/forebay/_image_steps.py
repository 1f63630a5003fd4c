"""Steps that work on pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, Sequence

from ._appending import Appending, _by_field, _float, _floats, _numbers, _one_or_list, _range
from .errors import InvalidArgument

if TYPE_CHECKING:
    from .pipeline import Normalization, Pipeline


class ImageSteps(Appending):
    """What a Pipeline has for pictures."""

    __slots__ = ()

    def decode_image(
        self, mode: str = "rgb", *, field: str | Sequence[str] | None = None, max_pixels: int = 100_000_000
    ) -> Pipeline:
        """Decodes JPEG, PNG, WebP or BMP into the field `image`: uint8 or uint16, (height, width, channels).

        As Pillow would: EXIF orientation applied, alpha dropped unless asked for, 16 bits become 8 by their upper byte, CMYK converted.
        Only the part that a following crop needs is decoded.

        Args:
            mode: "rgb" (3 channels) or "gray" (1 channel), 8 bits.
                "palette": the indices of a palette, 1 channel, as Pillow's mode "P" has them: the classes of masks of Pascal VOC, DAVIS and others. Of PNG and BMP;
                pictures without a palette are Unsupported. Resize them with interpolation="nearest", or {"mask": "nearest"} where they share a draw with
                pictures: bilinear is InvalidArgument.
                "rgba" (4 channels), as Pillow's `convert("RGBA")`, and "alpha" (its last channel alone): 255 where a picture has no alpha.
                "rgb16" (3 channels) and "gray16" (1 channel): uint16, with the 16 bits of a PNG kept (depth, X-rays: Pillow's "I;16") and 8-bit
                pictures times 257. Whole pictures are decoded then. What follows may crop, flip, resize, normalize (of 65535) and cast;
                .color_jitter wants 8 bits.
            field: the encoded field, or a list of several (a pair of cameras); by default `image`, else `bytes`. Fields of different modes are decoded by a
                step each: `.decode_image(field="image").decode_image("palette", field="mask")`.
            max_pixels: larger pictures are Unsupported.

        Errors of a sample: Corrupt for damaged data, Unsupported for other formats.
        """
        return self._then("decode_image", field=_one_or_list(field), mode=mode, max_pixels=max_pixels)

    def resize(
        self,
        size: int | Sequence[int] | None = None,
        *,
        short_side: int | None = None,
        interpolation: str | Mapping[str, str] = "bilinear",
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Changes the size in pixels; `(h, w, c)` in and out.

        Args:
            size: one number for a square, or (height, width).
            short_side: instead of `size`: length of the shorter side; the other becomes `int(short_side * long / short)`.
            interpolation: "bilinear" (anti-aliased, always) or "nearest"; or {field: one of them} where fields differ, as a mask
                does from its picture.
        """
        return self._then(
            "resize",
            size=_one_or_list(size),
            short_side=short_side,
            interpolation=_by_field(interpolation),
            field=_one_or_list(field),
        )

    def center_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """The middle of a picture; it starts at `round((H - h) / 2)`. Where the picture is smaller, zeros are around it.

        Args:
            n: pixels; one number for a square, or (height, width).
        """
        return self._then("center_crop", n=_one_or_list(n), field=_one_or_list(field))

    def random_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """A part of a picture at a random place.

        Args:
            n: pixels; one number for a square, or (height, width).
        """
        return self._then("random_crop", n=_one_or_list(n), field=_one_or_list(field))

    def random_resized_crop(
        self,
        n: int | Sequence[int],
        *,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: str | Mapping[str, str] = "bilinear",
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """A random part of a picture, resized, as in torchvision's RandomResizedCrop.

        Args:
            n: pixels of the result; one number for a square, or (height, width).
            scale: share of the picture's area that the part has.
            ratio: its width over its height.
            interpolation: as in `resize`.
        """
        return self._then(
            "random_resized_crop",
            n=_one_or_list(n),
            scale=_floats("scale", scale),
            ratio=_floats("ratio", ratio),
            interpolation=_by_field(interpolation),
            field=_one_or_list(field),
        )

    def random_flip(self, p: float = 0.5, *, field: str | Sequence[str] = "image") -> Pipeline:
        """Mirrors left and right with probability `p`."""
        return self._then("random_flip", p=_float("random_flip: p", p), field=_one_or_list(field))

    def color_jitter(
        self,
        brightness: float | tuple[float, float] | None = None,
        contrast: float | tuple[float, float] | None = None,
        saturation: float | tuple[float, float] | None = None,
        hue: float | tuple[float, float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Changes brightness, contrast, saturation and hue by random amounts, in that order.

        Each is a number (`0.4` draws a factor between 0.6 and 1.4; for `hue` a turn between -0.4 and 0.4) or the pair
        (low, high) to draw from. What is not given stays as it is.
        """
        return self._then(
            "color_jitter",
            brightness=_range("brightness", brightness),
            contrast=_range("contrast", contrast),
            saturation=_range("saturation", saturation),
            hue=_range("hue", hue),
            field=_one_or_list(field),
        )

    def normalize(
        self,
        mean: Normalization | float | Sequence[float],
        std: float | Sequence[float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Mean 0 and deviation 1: float32.

        Pictures: `(x / 255 - mean) / std` per channel, (channels, height, width) unless `.layout` or `.cast` say otherwise. Columns of
        numbers, alone or in lists: `(x - mean) / std`, computed in float64 (NumPy's
        `((x.astype("float64") - mean) / std).astype("float32")`, bit by bit).

        Args:
            mean: one number for all, or one for each channel of a picture, or one for each column named; or mean and std at
                once: `fb.IMAGENET`.
            std: likewise, above 0.
            field: the picture's field, a column, or a list of pictures or of columns.
        """
        if std is None:
            try:
                mean, std = mean
            except (TypeError, ValueError):
                raise InvalidArgument("normalize: give mean and std, or fb.IMAGENET") from None
        return self._then(
            "normalize",
            mean=_numbers("mean", mean),
            std=_numbers("std", std),
            field=_one_or_list(field),
        )

    def layout(self, order: str, *, field: str | Sequence[str] = "image") -> Pipeline:
        """The order of a picture's axes: "chw" (channels, height, width) or "hwc"."""
        return self._then("layout", order=order, field=_one_or_list(field))
