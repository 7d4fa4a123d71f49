"""Copies data and models between stores and the volume that all nodes share; each program runs in a
pod of its own.

`python -m trainer.staging`          a store, hub or web server -> a folder: resumable, verified
`python -m trainer.staging.publish`  the model of a run -> a bucket
"""
