"""Data and models carried between stores and the volume that all nodes see; each program is begun
in a pod of its own.

`python -m trainer.staging`          S3, GCS or HTTP -> a folder of the volume: resumed where it
broke off, checked, marked `python -m trainer.staging.publish`  the model of a run -> a bucket
"""
