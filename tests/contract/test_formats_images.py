#!/usr/bin/env python3
"""Images that Pillow wrote have the pixels that Pillow reads, also resized (tried with Pillow 13.0.0; its bits of JPEG
are those of the libjpeg-turbo that it brings along, so that they may differ by 1)."""

import unittest

from formats import Formats, skip

try:
    import numpy
    from PIL import Image
except ImportError as error:
    skip(error, "pillow numpy")


class Images(Formats):
    def setUp(self):
        super().setUp()
        self.random = numpy.random.default_rng(1)
        for name in "cat", "dog":
            (self.folder / name).mkdir()

    def picture(self, height, width, mode="RGB"):
        """A smooth picture with some noise, as photographs are."""
        y, x = numpy.mgrid[:height, :width]
        channels = [numpy.sin(x / (5 + i) + y / (9 - i)) * 100 + 128 for i in range(4)]
        noise = self.random.integers(-20, 20, (height, width, 4))
        pixels = (numpy.stack(channels, -1) + noise).clip(0, 255).astype(numpy.uint8)
        return Image.fromarray(pixels, "RGBA").convert(mode)

    def pixels(self, image, mode="RGB"):
        return numpy.asarray(image.convert(mode)).ravel()

    def rows(self, **options):
        columns, rows = self.read("images", self.folder, **options)
        self.assertEqual([column[:2] for column in columns], [["image", "bytes"], ["label", "number"]])
        return columns[0][2:], [(numpy.frombuffer(row[0], numpy.uint8), int(row[1])) for row in rows]

    def test_png_has_the_same_pixels(self):
        modes = "L", "P", "RGB", "RGBA"
        for i, mode in enumerate(modes):
            self.picture(20, 30, mode).save(self.folder / "cat" / f"{i}.png", interlace=i % 2)
        self.picture(20, 30, "1").save(self.folder / "dog" / "bits.png")
        for channels, mode in (3, "RGB"), (1, "L"):
            shape, rows = self.rows(channels=channels)
            self.assertEqual(shape, [20, 30, channels])
            self.assertEqual([label for _, label in rows], [0] * len(modes) + [1])
            files = sorted((self.folder / "cat").iterdir()) + [self.folder / "dog" / "bits.png"]
            for (pixels, _), file in zip(rows, files, strict=True):
                image = Image.open(file)
                if image.mode == "P":
                    image = image.convert("RGBA")  # Pillow asks for it.
                if image.mode == "RGBA":
                    image = image.convert("RGB")
                numpy.testing.assert_array_equal(pixels, self.pixels(image, mode), str(file))

    def test_jpeg_has_nearly_the_same_pixels(self):
        for i, options in enumerate(({"quality": 95}, {"progressive": True}, {"subsampling": 0}, {"optimize": True})):
            self.picture(31, 45).save(self.folder / "cat" / f"{i}.jpg", **options)
        self.picture(31, 45, "L").save(self.folder / "dog" / "grey.JPEG")
        shape, rows = self.rows()
        self.assertEqual(shape, [31, 45, 3])
        files = sorted((self.folder / "cat").iterdir()) + [self.folder / "dog" / "grey.JPEG"]
        for (pixels, _), file in zip(rows, files, strict=True):
            difference = pixels.astype(int) - self.pixels(Image.open(file))
            self.assertLessEqual(abs(difference).max(), 1, file)

    def test_resized_images_have_pillows_bits(self):
        sizes = (40, 60), (64, 48), (17, 99), (8, 8), (100, 3)
        for i, size in enumerate(sizes):
            self.picture(*size).save(self.folder / "cat" / f"{i}.png")
        for height, width in (16, 16), (32, 20), (50, 70):
            for fit in "crop", "stretch":
                _, rows = self.rows(size=[height, width], fit=fit)
                for i, (pixels, _) in enumerate(rows):
                    image = Image.open(self.folder / "cat" / f"{i}.png")
                    if fit == "crop":
                        image = image.crop(middle(image.size, height, width))
                    bilinear = Image.Resampling.BILINEAR  # Pillow's order of two passes depends on its version.
                    expected = image.resize((width, image.height), bilinear).resize((width, height), bilinear)
                    numpy.testing.assert_array_equal(pixels, self.pixels(expected), f"{sizes[i]} {height} {width} {fit}")

    def test_classes_are_the_folders(self):
        for name in "dog", "cat", "bird":
            (self.folder / name).mkdir(exist_ok=True)
            self.picture(2, 2).save(self.folder / name / "a.png")
        _, rows = self.rows()
        self.assertEqual([label for _, label in rows], [0, 1, 2])

    def test_errors_name_the_file(self):
        self.refused("images", self.folder, "the subfolders have no images")
        self.picture(4, 5).save(self.folder / "cat" / "a.png")
        self.picture(5, 4).save(self.folder / "dog" / "b.jpg")
        self.refused("images", self.folder, "dog/b.jpg: the image is 5 x 4, but the first one is 4 x 5: give")
        self.refused("images", self.folder, "data.options.channels", size=[4, 4], channels=2)
        self.refused("images", self.folder, "unknown key", sizes=[4, 4])
        (self.folder / "dog" / "b.jpg").write_text("no image")
        self.refused("images", self.folder, "dog/b.jpg: not a JPEG or PNG image")
        self.refused("images", self.folder / "cat", "0 subfolders: there must be one for each class")
        self.refused("images", self.folder / "cat" / "a.png", "the format 'images' is not for a file")


def middle(size, height, width):
    """The largest part in the middle with this ratio, as (left, top, right, bottom)."""
    inner = list(size)
    if size[0] * height > size[1] * width:
        inner[0] = max(1, size[1] * width // height)
    else:
        inner[1] = max(1, size[0] * height // width)
    left, top = (size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2
    return left, top, left + inner[0], top + inner[1]


if __name__ == "__main__":
    unittest.main()
