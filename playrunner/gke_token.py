"""`python -m playrunner.gke_token`, the address that kubeconfig files name."""

import sys

from playrunner.gcp.gke_token import main

if __name__ == "__main__":
    sys.exit(main())
