"""What makes the sandbox's cluster move: controllers in one process beside the API, which they
reach only over HTTPS.

`python -m playrunner.sandbox.kube.controller_manager --kubeconfig FILE --folder FOLDER` runs all of
`roster.controllers()`, against the pretend API or a real kube-apiserver alike. It survives an API
that goes away and comes back: a watch that ends is taken up again, one that breaks off or is too
old (410) begins with a new list; work that failed is tried again, later each time.

Writing a controller (see `services.py` for a short one):

- A `Controller` says in `watches()` what it looks at, as pairs of a `Resource` and a function from
  one object of it to the keys (`(namespace, name)`) that have to be looked at when it changes:
  `by_itself`, `by_owner("Job")`, `for_reading`, or its own.
- `reconcile(key)` compares the actual with the desired state and moves it closer. It may be called
  at any time, twice, or late, but never twice at once for one key. It returns None, or the seconds
  after which it wants to be called again for the key. An `ApiError` or `Unreachable` that it lets
  through is tried again by the queue: conflicts (409) and absences (404) silently.
- It reads from `self.context.see(PODS)`, a view kept by a shared watch: `get(namespace, name)`,
  `all(namespace)`, `owned_by(uid)`. Objects read there are shared: never change one in place.
- It writes through `self.context`: `create`, `patch`, `patch_status`, `replace`, `delete`; what the
  API answered is in the view at once, so that the next look already sees what this one did.
  `self.context.event(...)` tells people why.
- Kinds that are there only once a definition is (operators) are `Resource(..., custom=True)`: their
  view is empty until then.

The list of controllers is `controller_manager/roster.py`; new ones are added there. Reading order:
`resources`, `client`, `view`, `queue`, `controller`, `controller_context`.
"""
