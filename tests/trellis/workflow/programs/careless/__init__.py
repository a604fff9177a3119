"""Programs that break the contract."""
