from azureml.core import Experiment, ScriptRunConfig
from azureml.core.runconfig import MpiConfiguration

distr_config = MpiConfiguration(process_count_per_node=4, node_count=2)
run_config = ScriptRunConfig(
  source_directory= './src',
  script='train.py',
  compute_target=compute_target,
  distributed_job_config=distr_config,
)
run = Experiment(ws, "experiment_name").submit(run_config)
