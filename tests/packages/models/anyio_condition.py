"""A notification is lost if the task is cancelled that it has woken: the other one waits for ever."""

import asyncio

import anyio
import anyio._backends._asyncio

import dpor


@dpor.model(instrument=("anyio",), cancellations=1)
def model() -> None:
    async def main() -> None:
        condition = anyio.Condition(anyio.Lock(fast_acquire=True))
        items: list[int] = []

        async def consume() -> None:
            async with condition:
                while not items:
                    await condition.wait()
                items.pop()

        consumers = [asyncio.create_task(consume()) for _ in range(2)]
        await asyncio.sleep(0)
        async with condition:
            items.append(1)
            condition.notify()
        _, waiting = await asyncio.wait(consumers, return_when=asyncio.FIRST_COMPLETED)
        if items:
            await asyncio.wait(waiting)
        for task in waiting:
            task.cancel()

    asyncio.run(main())
