from azure.ai.ml import Input, command
from azure.ai.ml.constants import AssetTypes
from azure.ai.ml.entities import ResourceConfiguration

inputs = {
    "cifar": Input(type=AssetTypes.URI_FOLDER, path=returned_job.outputs.cifar.path),
    "epoch": 10,
    "lr": 0.01,
    "output": "./outputs",
}
job = command(
    code="./src",  # local path where the code is stored
    command="python train.py --data-dir ${{inputs.cifar}} --epochs ${{inputs.epoch}} "
    "--learning-rate ${{inputs.lr}} --model-dir ${{inputs.output}}",
    inputs=inputs,
    environment="azureml:a-pytorch-environment@latest",
    instance_count=2,
    distribution={
        "type": "PyTorch",
        # the number of GPUs per node
        "process_count_per_instance": 1,
    },
)
job.resources = ResourceConfiguration(instance_type="one-gpu", instance_count=2)
