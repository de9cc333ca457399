from crawling.base.use import Use


class WithdrawalsConfig(Use):
    name = "crawling.uses.withdrawals"
    verbose_name = "Withdrawals"
