"""A pool that loses a connection when a task is cancelled.

Any `await` can raise CancelledError: a client goes away, a time limit further up runs out. The careless borrower gives
its connection back after the work, but not if it is cancelled while it works: then nobody can borrow it any more, and
whoever comes next waits for ever.

The fix is to give back in `finally`. `cancellations=1` has the loop cancel one task, at any moment, so that no model
has to say which one and when.
"""

import asyncio

import dpor


class Pool:
    def __init__(self, size):
        self.free = asyncio.Queue()
        for number in range(size):
            self.free.put_nowait(number)

    async def careless(self):
        connection = await self.free.get()
        await self.query()
        self.free.put_nowait(connection)

    async def careful(self):
        connection = await self.free.get()
        try:
            await self.query()
        finally:
            self.free.put_nowait(connection)

    async def query(self):
        """Stand for a call over the network."""
        await asyncio.sleep(1)


@dpor.model(cancellations=1, expect="violated")
async def lost_connection():
    """The second borrower waits for what the first one, cancelled, has not given back."""
    pool = Pool(1)
    await asyncio.gather(pool.careless(), pool.careless(), return_exceptions=True)


@dpor.model(cancellations=1, expect="verified")
async def kept_connection():
    """Whoever is cancelled, and when: the connection comes back."""
    pool = Pool(1)
    await asyncio.gather(pool.careful(), pool.careful(), return_exceptions=True)
    assert pool.free.qsize() == 1
