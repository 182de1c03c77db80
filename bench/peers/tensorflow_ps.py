"""The job on two parameter servers and two workers of TensorFlow (ParameterServerStrategy), which is asynchronous: each
step of a worker is one batch. See job.py. The servers are this script with role, index and cluster as arguments."""

import json
import sys

import job
import tensorflow_job

tensorflow = tensorflow_job.tensorflow


def serve_task(role, index, cluster):
    tensorflow.distribute.Server(tensorflow.train.ClusterSpec(cluster), job_name=role, task_index=index,
                                 protocol="grpc").join()


def coordinate(cluster, network):
    resolver = tensorflow.distribute.cluster_resolver.SimpleClusterResolver(
        tensorflow.train.ClusterSpec(cluster), rpc_layer="grpc")
    strategy = tensorflow.distribute.ParameterServerStrategy(resolver)
    coordinator = tensorflow.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        network.build()
    data = iter(coordinator.create_per_worker_dataset(lambda: network.batches(job.BATCH)))

    @tensorflow.function
    def one(batches):
        return strategy.run(network.step, args=next(batches))

    def run_steps(count):
        for _ in range(count):
            coordinator.schedule(one, args=(data,))
        coordinator.join()

    job.serve(tensorflow_job.NAME, run_steps, job.BATCH, network.area)


def main():
    if len(sys.argv) > 3:
        serve_task(sys.argv[3], int(sys.argv[4]), json.loads(sys.argv[5]))
        return
    addresses = job.free_addresses(4)
    cluster = {"ps": addresses[:2], "worker": addresses[2:]}
    network = tensorflow_job.of_folder(2)
    tasks = [job.start_again(role, str(i), json.dumps(cluster), folder=network.folders[i]) for role in cluster for i in range(2)]
    try:
        coordinate(cluster, network)
    finally:
        for task in tasks:
            task.kill()
            task.wait()


main()
