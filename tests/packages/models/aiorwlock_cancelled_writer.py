"""A writer that is cancelled while it waits in the queue takes a count back that it never got."""

import asyncio

from aiorwlock import RWLock

import dpor


@dpor.model(instrument=("aiorwlock",), cancellations=1)
def model() -> None:
    async def read(lock: RWLock) -> None:
        async with lock.reader:
            await asyncio.sleep(0)

    async def write(lock: RWLock) -> None:
        async with lock.writer:
            await asyncio.sleep(0)

    async def main() -> None:
        lock = RWLock()
        await asyncio.gather(read(lock), write(lock), read(lock), return_exceptions=True)

    asyncio.run(main())
