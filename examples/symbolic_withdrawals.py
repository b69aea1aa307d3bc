"""Two clerks withdraw any amounts from an account with any balance.

Each looks whether the balance suffices before it takes the money, but nothing keeps the other from taking it in
between. The numbers are symbolic: the check is not for some balances and amounts, but for all of them, and the report
says which break it. With the lock around both steps, no balance and no amounts do.

Needs the solver: python -m pip install 'dpor-lsp[symbolic]'
"""

import threading

import dpor


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.lock = threading.Lock()

    def withdraw(self, amount):
        if amount <= self.balance:
            self.balance -= amount

    def withdraw_safely(self, amount):
        with self.lock:
            self.withdraw(amount)


@dpor.model(expect="violated")
def withdrawals():
    account = Account(dpor.nondet_int("balance", low=0))
    for _ in range(2):
        dpor.spawn(account.withdraw, dpor.nondet_int("amount", low=1))
    dpor.join_all()
    assert account.balance >= 0


@dpor.model
def safe_withdrawals(clerks: int = 3):
    account = Account(dpor.nondet_int("balance", low=0))
    for _ in range(clerks):
        dpor.spawn(account.withdraw_safely, dpor.nondet_int("amount", low=1))
    dpor.join_all()
    assert account.balance >= 0
