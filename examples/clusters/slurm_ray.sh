#!/bin/bash
# Slurm with Ray: one engine, and the GPUs of all nodes. Ray 2.49 or newer starts itself on every node (symmetric-run).
#
#   RUN=/shared/runs/first sbatch examples/clusters/slurm_ray.sh config.yaml
#
#SBATCH --job-name=edit-eval
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=04:00:00

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export RAY_USAGE_STATS_ENABLED=0
exec srun --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 \
    ray symmetric-run --address "$head:6379" --min-nodes "$SLURM_JOB_NUM_NODES" -- \
    edit-eval run "$1" --run-dir "${RUN:?the run directory}" --driver ray --set execution.address=auto
