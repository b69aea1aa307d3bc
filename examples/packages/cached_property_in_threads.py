"""cached-property: the property is computed twice when two threads ask at the same time.

`cached_property` computes the value and then stores it on the object, without a lock. A user saw a property
that connects to a service run ten times for ten threads:
https://github.com/pydanny/cached-property/issues/6. The same holds for `functools.cached_property` since
Python 3.12.

The fix comes with the package: `threaded_cached_property` looks again under a lock before it computes.
"""

import cached_property

import dpor


def connect_from_threads(property_type, threads):
    class Service:
        def __init__(self):
            self.connections = 0

        @property_type
        def client(self):
            self.connections += 1
            return object()

    service = Service()
    for _ in range(threads):
        dpor.spawn(lambda: service.client)
    dpor.join_all()
    assert service.connections == 1, "the service was connected to more than once"


@dpor.model(expect="violated", instrument=("cached_property",))
def computed_twice(threads: int = 2):
    """The plain decorator."""
    connect_from_threads(cached_property.cached_property, threads)


@dpor.model(expect="verified", instrument=("cached_property",))
def computed_once(threads: int = 2):
    """The decorator with a lock."""
    connect_from_threads(cached_property.threaded_cached_property, threads)
