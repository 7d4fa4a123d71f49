"""Copies data and models between stores and the volume that all nodes share; each program runs in a
pod of its own.

`python -m trainer.staging`          S3, GCS or HTTP -> a folder of the volume: resumable, verified
`python -m trainer.staging.publish`  the model of a run -> a bucket
"""
