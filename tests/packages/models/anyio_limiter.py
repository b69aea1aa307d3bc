"""A limiter with one token lets two tasks in: who arrives before the task runs that has been woken."""

import asyncio

import anyio
import anyio._backends._asyncio

import dpor


@dpor.model(instrument=("anyio",))
def model() -> None:
    async def main() -> None:
        limiter = anyio.CapacityLimiter(1)
        inside: list[int] = []

        async def use(name: int) -> None:
            await asyncio.sleep(0.1)
            async with limiter:
                inside.append(name)
                assert inside == [name]
                for _ in range(3):
                    await asyncio.sleep(0)
                inside.remove(name)

        await asyncio.gather(*(use(name) for name in range(3)))

    asyncio.run(main())
