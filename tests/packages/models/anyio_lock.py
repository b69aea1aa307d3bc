"""A third user waits for ever for a lock that is free: the second one was cancelled, and stood in the queue still."""

import asyncio

import anyio
import anyio._backends._asyncio

import dpor


@dpor.model(instrument=("anyio",), cancellations=1)
def model() -> None:
    async def main() -> None:
        lock = anyio.Lock(fast_acquire=True)

        async def first() -> None:
            async with lock:
                await asyncio.sleep(0)
                await asyncio.sleep(0)

        async def second() -> None:
            async with lock:
                pass

        async def third() -> None:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            async with lock:
                pass

        await asyncio.gather(first(), second(), third(), return_exceptions=True)

    asyncio.run(main())
