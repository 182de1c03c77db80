"""The job in one process of TensorFlow with its default threads: see job.py."""

import os

import job
import tensorflow_job


def main():
    network = tensorflow_job.of_folder(1)
    network.build()
    if network.folders[0] is not None:
        os.chdir(network.folders[0])
    step = tensorflow_job.tensorflow.function(network.step)
    data = iter(network.batches(job.BATCH))

    def run_steps(count):
        for _ in range(count):
            loss = step(*next(data))
        loss.numpy()

    job.serve(tensorflow_job.NAME, run_steps, job.BATCH, network.area)


main()
