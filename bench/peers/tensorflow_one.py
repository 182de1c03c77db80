"""The job in one process of TensorFlow with its default threads: see job.py."""

import tensorflow_model
import job


def main():
    step = tensorflow_model.tensorflow.function(tensorflow_model.build())
    data = iter(tensorflow_model.batches(*job.load(), job.BATCH))

    def run_steps(count):
        for _ in range(count):
            loss = step(*next(data))
        loss.numpy()

    job.serve(tensorflow_model.NAME, run_steps, job.BATCH)


main()
