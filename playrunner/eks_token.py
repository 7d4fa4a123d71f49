"""`python -m playrunner.eks_token`, the address that kubeconfig files name."""

import sys

from playrunner.aws.eks_token import main

if __name__ == "__main__":
    sys.exit(main())
