#!/usr/bin/env python3
"""bench_readers beside the Python libraries of the formats, on the same files; processor time, of all threads.

    python3 bench/readers.py build/bin/bench_readers

Each library that is installed is measured: pandas, numpy, scikit-learn, webdataset, Pillow, torchvision, TensorFlow; for
others a line reports that they are not installed. The files are
written into a temporary folder.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

ROUNDS, ROWS, IMAGES = 5, 50_000, 1_000


def speed(read, rows):
    """Median rows per second."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        read()
        times.append(time.process_time() - begin)
    return rows / statistics.median(times)


def line(program, format, path, rows, **libraries):
    print(subprocess.run([program, format, str(path)], capture_output=True, text=True, check=True).stdout.strip())
    for name, read in libraries.items():
        print(f"    {name}: {speed(read, rows):.0f} rows/s", flush=True)


def module(name):
    try:
        return __import__(name)
    except ImportError:
        print(f"{name} is not installed")
        return None


def main(program, folder):
    random = numpy.random.default_rng(1)
    table = random.standard_normal((ROWS, 20)).astype(numpy.float32)
    labels = random.integers(0, 10, ROWS)

    numpy.save(folder / "a.npy", table)
    line(program, "npy", folder / "a.npy", ROWS,
         numpy_mmap=lambda: [row.sum() for row in numpy.load(folder / "a.npy", mmap_mode="r")])

    names = ",".join(f"c{i}" for i in range(20))
    numpy.savetxt(folder / "a.csv", table, "%.6g", ",", header=names, comments="")
    pandas = module("pandas")
    line(program, "csv", folder / "a.csv", ROWS,
         **({"pandas": lambda: pandas.read_csv(folder / "a.csv")} if pandas else {}))

    if module("sklearn"):
        from sklearn.datasets import dump_svmlight_file, load_svmlight_file
        dump_svmlight_file(table, labels, str(folder / "a.svm"), zero_based=False)
        line(program, "libsvm", folder / "a.svm", ROWS, sklearn=lambda: load_svmlight_file(str(folder / "a.svm")))

    if module("PIL"):
        from PIL import Image
        images(program, folder, random, Image)

    tensorflow = module("tensorflow")
    if tensorflow:
        records(program, folder / "a.tfrecord", table, labels, tensorflow)


def images(program, folder, random, image):
    pixels = (random.integers(0, 30, (64, 64, 3)) + numpy.mgrid[:64, :64].sum(0)[..., None]).astype(numpy.uint8)
    torchvision = module("torchvision")
    if torchvision:
        from torchvision.datasets import ImageFolder
        from torchvision.io import decode_image
    for kind in "jpg", "png":
        root = folder / kind / "class"
        root.mkdir(parents=True)
        for i in range(IMAGES):
            image.fromarray(pixels + i % 50).save(root / f"{i:05}.{kind}")
        libraries = {"Pillow": lambda root=root: [numpy.asarray(image.open(path)) for path in root.iterdir()]}
        if torchvision:
            libraries["torchvision"] = lambda kind=kind: list(ImageFolder(folder / kind, loader=decode_image))
        line(program, "images", folder / kind, IMAGES, **libraries)
    webdataset = module("webdataset")
    if webdataset:
        path = str(folder / "a.tar")
        with webdataset.TarWriter(path) as sink:
            for i in range(IMAGES):
                sink.write({"__key__": f"{i:05}", "jpg": image.fromarray(pixels), "cls": i % 10})
        line(program, "tar", path, IMAGES,
             webdataset=lambda: list(webdataset.WebDataset(path, shardshuffle=False).decode("rgb8")))


def records(program, path, table, labels, tensorflow):
    train = tensorflow.train
    with tensorflow.io.TFRecordWriter(str(path)) as writer:
        for row, label in zip(table, labels):
            writer.write(train.Example(features=train.Features(feature={
                "x": train.Feature(float_list=train.FloatList(value=row)),
                "y": train.Feature(int64_list=train.Int64List(value=[label]))})).SerializeToString())
    shape = {"x": tensorflow.io.FixedLenFeature([20], tensorflow.float32),
             "y": tensorflow.io.FixedLenFeature([], tensorflow.int64)}
    data = tensorflow.data.TFRecordDataset(str(path)).batch(256).map(
        lambda batch: tensorflow.io.parse_example(batch, shape))
    line(program, "tfrecord", path, ROWS, tf_data=lambda: sum(1 for _ in data))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(sys.argv[1], Path(name))
