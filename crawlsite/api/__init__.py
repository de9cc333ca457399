"""The JSON that programs use, under `/api/v1/`: the root, log-in, errors and description.

The endpoints stand in the apps.
"""
