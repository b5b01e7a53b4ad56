"""A member's connections, on asyncio. Read `client.py` first."""
