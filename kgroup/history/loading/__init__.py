"""Whether a broker's group coordinator will load an offsets partition, by version: `releases.py` has what
differs between them, `coordinator.py` what loading does, `walk.py` how a broker walks damaged bytes.
"""
