"""Where runs run: processes here, tasks of Ray, jobs of SLURM. Each is given jobs, and reports what became of them."""
