"""What a project says of itself: APIs, permissions, quotas, accounts, images, networks, keys."""
