from azureml.core import Environment, Experiment, ScriptRunConfig
from azureml.core.runconfig import PyTorchConfiguration

pytorch_env = Environment.get(workspace=ws, name='an-environment')
distr_config = PyTorchConfiguration(process_count=8, node_count=2)

run_config = ScriptRunConfig(
  source_directory='./src',
  script='train.py',
  arguments=['--epochs', 50],
  compute_target=compute_target,
  environment=pytorch_env,
  distributed_job_config=distr_config,
)
run = Experiment(ws, 'experiment_name').submit(run_config)
