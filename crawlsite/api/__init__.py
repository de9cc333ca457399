"""The JSON that programs use, under `/api/v1/`: its root, its log-in, its errors and its
description.

The endpoints are in the apps.
"""
