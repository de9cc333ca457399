"""The rules applied to each of the two banks."""

from __future__ import annotations

from django.db import transaction

from tests.allocation.machine.paper import PaperBank
from tests.allocation.machine.rows import RowBank
from tests.allocation.machine.rules import BankMachine


class OnPaper(BankMachine):
    """Tests of the pure core."""

    open_bank = PaperBank


class OnRows(BankMachine):
    """Tests of PostgreSQL. The rows of one example are rolled back before the next."""

    open_bank = RowBank

    def __init__(self) -> None:
        super().__init__()
        self.before = transaction.savepoint()

    def teardown(self) -> None:
        try:
            self.bank.check_ledger()
            super().teardown()
            self.bank.check_ledger()
        finally:
            transaction.savepoint_rollback(self.before)
