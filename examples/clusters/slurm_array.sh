#!/bin/bash
# A Slurm job array: independent engines on one run directory, each with its shard. No Ray, no traffic between nodes.
#
#   RUN=/shared/runs/first sbatch examples/clusters/slurm_array.sh config.yaml
#
#SBATCH --job-name=edit-eval
#SBATCH --array=0-15
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@300

# Five minutes before its time limit the job gets USR1: it finishes the work under way, and is queued again.
trap '[ -z "$!" ] || kill -USR1 "$!"' USR1 # before there is an engine to tell: else it would end this script alone
trap '[ -z "$!" ] || kill -TERM "$!"' TERM
edit-eval run "$1" --run-dir "${RUN:?the run directory that all jobs share}" --shard auto --grace 240 &
engine=$!
wait "$engine"
code=$?
while kill -0 "$engine" 2>/dev/null; do  # a signal ended `wait`, not the engine
    wait "$engine"
    code=$?
done
if [ "$code" = 4 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit "$code"
