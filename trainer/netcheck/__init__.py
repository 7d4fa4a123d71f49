"""The network check: ranks measure their links before they train."""
