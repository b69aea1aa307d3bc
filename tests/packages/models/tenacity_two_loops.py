"""Two loops over one `AsyncRetrying` share their attempts."""

import asyncio

from tenacity import AsyncRetrying, stop_after_attempt

import dpor


@dpor.model(instrument=("tenacity",))
def model() -> None:
    async def main() -> None:
        retrying = AsyncRetrying(stop=stop_after_attempt(2), reraise=True)

        async def work() -> None:
            attempts = 0
            try:
                async for attempt in retrying:
                    with attempt:
                        attempts += 1
                        await asyncio.sleep(0)
                        raise KeyError
            except KeyError:
                pass
            assert attempts == 2

        await asyncio.gather(work(), work())

    asyncio.run(main())
