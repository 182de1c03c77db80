"""The job in two processes of TensorFlow that add their gradients (MultiWorkerMirroredStrategy), each with half of the
batch: see job.py. The second process is this script with the addresses as third argument."""

import json
import os
import sys

import job


def train(index, addresses, second):
    """The first process serves; it writes to the second how many steps to do."""
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})
    import tensorflow_job  # pylint: disable=import-outside-toplevel
    tensorflow = tensorflow_job.tensorflow
    strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
    network = tensorflow_job.Images(1)
    with strategy.scope():
        network.build()
    data = iter(network.batches(job.BATCH // 2))

    @tensorflow.function
    def together(images, labels):
        return strategy.run(network.step, args=(images, labels))

    def run_steps(count):
        if second is not None:
            second.stdin.write(f"{count}\n")
            second.stdin.flush()
        for _ in range(count):
            loss = together(*next(data))
        strategy.experimental_local_results(loss)[0].numpy()

    if second is not None:
        job.serve(tensorflow_job.NAME, run_steps, job.BATCH)
        return
    for line in sys.stdin:
        run_steps(int(line))


def main():
    if len(sys.argv) > 3:
        train(1, sys.argv[3].split(","), None)
        return
    addresses = job.free_addresses(2)
    second = job.start_again(",".join(addresses))
    try:
        train(0, addresses, second)
    finally:
        second.kill()
        second.wait()


main()
