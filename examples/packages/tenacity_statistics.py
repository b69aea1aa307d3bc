"""tenacity: a decorated function that two threads call raises KeyError instead of trying again.

`@retry` keeps numbers about the last call in `function.statistics`. It is one dict for all threads: each call clears
it and fills it again. A thread that counts its next attempt while another one has just cleared the dict raises
`KeyError: 'attempt_number'`, which is not an error of the function, and so nobody retries it:
https://github.com/jd/tenacity/issues/701.

The fix is a `Retrying` for each call. What it counts belongs to the thread that calls.
"""

import tenacity

import dpor


class Service:
    """Fails at the first request of each user."""

    def __init__(self):
        self.known = set()

    def request(self, user):
        if user not in self.known:
            self.known.add(user)
            raise ConnectionError("not yet")
        return user


def request_from_threads(request):
    answers = {}

    def ask(user):
        answers[user] = request(user)

    dpor.spawn(ask, "ann")
    dpor.spawn(ask, "bob")
    dpor.join_all()
    assert answers == {"ann": "ann", "bob": "bob"}


@dpor.model(expect="violated", instrument=("tenacity",))
def decorated():
    """Two threads call a function that is decorated once."""
    request_from_threads(tenacity.retry(stop=tenacity.stop_after_attempt(2))(Service().request))


@dpor.model(expect="verified", instrument=("tenacity",))
def retried_apart():
    """Each call has a `Retrying` of its own."""
    service = Service()
    request_from_threads(
        lambda user: tenacity.Retrying(stop=tenacity.stop_after_attempt(2))(service.request, user)
    )
