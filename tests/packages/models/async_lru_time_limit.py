"""With a time limit, a call that ends after its entry has left the cache raises KeyError in a callback."""

import asyncio

from async_lru import alru_cache

import dpor


@dpor.model(instrument=("async_lru",))
def model() -> None:
    @alru_cache(maxsize=1, ttl=5)
    async def load(key: int) -> int:
        await asyncio.sleep(0)
        return key

    async def main() -> None:
        assert await asyncio.gather(load(1), load(2)) == [1, 2]

    asyncio.run(main())
