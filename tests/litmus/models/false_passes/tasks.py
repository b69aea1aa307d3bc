"""Tasks of an event loop switch at every `await`."""

import asyncio

import dpor


class Account:
    def __init__(self):
        self.balance = 100
        self.lock = asyncio.Lock()

    async def withdraw(self, amount):
        if self.balance >= amount:
            await asyncio.sleep(0)
            self.balance -= amount

    async def withdraw_locked(self, amount):
        async with self.lock:
            await self.withdraw(amount)


@dpor.model(expect="violated")
def check_then_act_across_await():
    async def main():
        account = Account()
        await asyncio.gather(account.withdraw(80), account.withdraw(80))
        assert account.balance >= 0

    asyncio.run(main())


@dpor.model
def check_then_act_across_await_fixed():
    async def main():
        account = Account()
        await asyncio.gather(account.withdraw_locked(80), account.withdraw_locked(80))
        assert account.balance >= 0

    asyncio.run(main())


@dpor.model(expect="violated")
def order_of_tasks():
    """Which of two tasks that slept the same time wakes first is open."""
    order = []

    async def work(name):
        await asyncio.sleep(0.1)
        order.append(name)

    async def main():
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(main())
    assert order == ["a", "b"]


@dpor.model
def order_of_tasks_fixed():
    order = []

    async def work(name):
        await asyncio.sleep(0.1)
        order.append(name)

    async def main():
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(main())
    assert sorted(order) == ["a", "b"]
