"""Check-then-act in asyncio: no threads, and a race all the same.

Coroutines of one event loop switch only at `await`. That is enough: between checking the balance and
drawing the money each withdrawal awaits the bank, and another withdrawal can run meanwhile. Both find 100,
both draw 80.

The fix is an `asyncio.Lock` held over the check and the act.
"""

import asyncio

import dpor


class Account:
    def __init__(self, balance):
        self.balance = balance

    async def withdraw(self, amount):
        if self.balance >= amount:
            await self.authorise(amount)
            self.balance -= amount

    async def authorise(self, amount):
        """Stand for a call over the network."""
        await asyncio.sleep(0)


class LockedAccount(Account):
    def __init__(self, balance):
        super().__init__(balance)
        self.lock = asyncio.Lock()

    async def withdraw(self, amount):
        async with self.lock:
            await super().withdraw(amount)


async def withdraw_twice(account):
    await asyncio.gather(account.withdraw(80), account.withdraw(80))


@dpor.model(expect="violated")
def overdrawn():
    """Two withdrawals pass the same check."""
    account = Account(100)
    asyncio.run(withdraw_twice(account))
    assert account.balance >= 0


@dpor.model(expect="verified")
def locked_withdrawals():
    """The second withdrawal checks after the first one has drawn."""
    account = LockedAccount(100)
    asyncio.run(withdraw_twice(account))
    assert account.balance == 20
