"""Jobs made of numbered replicas, as the Kubeflow operators share them: what PyTorchJob and
ElasticJob have in common.

`spec` reads a job, `pods` makes its pods and services, `conditions` keeps its story, `progress`
decides the next move, `controller` does it. What differs between the two operators is a
`spec.Dialect`.
"""
