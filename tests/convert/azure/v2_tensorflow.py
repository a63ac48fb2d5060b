from azure.ai.ml import command
from azure.ai.ml.entities import TensorFlowDistribution

job = command(
    code="./src",
    command="python main.py --epochs ${{inputs.epochs}} --model-dir ${{inputs.model_dir}}",
    inputs={"epochs": 1, "model_dir": "outputs/keras-model"},
    compute="cpu-cluster",
    instance_count=2,
    # distribution={"type": "mpi", "process_count_per_instance": 1},
    display_name="tensorflow-mnist",
)
job.distribution = TensorFlowDistribution(worker_count=2)
