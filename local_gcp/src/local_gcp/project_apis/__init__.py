"""APIs about a project: its services, permissions, quotas, accounts, images, networks, keys."""
