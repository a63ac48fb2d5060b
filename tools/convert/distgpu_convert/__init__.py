"""distgpu convert: batch scripts and Azure ML jobs, rewritten for srun --distgpu."""
