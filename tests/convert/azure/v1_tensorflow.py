from azureml.core import Experiment, ScriptRunConfig
from azureml.core.runconfig import TensorflowConfiguration

distr_config = TensorflowConfiguration(worker_count=2, parameter_server_count=0)
run_config = ScriptRunConfig(
  source_directory='./src',
  script='train.py',
  compute_target=compute_target,
  distributed_job_config=distr_config,
)
run = Experiment(ws, 'tensorflow').submit(run_config)
