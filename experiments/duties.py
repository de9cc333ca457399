"""The scheduler sends lost jobs of experiments again."""

from experiments.jobs import resend_experiments

DUTIES = ((resend_experiments, 10.0),)
