"""What coordinators and brokers are asked, free of wire versions. Read `coordinator.py` first."""
