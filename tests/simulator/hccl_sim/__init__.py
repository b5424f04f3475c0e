"""Stand-in for the programs of hccl_test: real ranks under a real mpirun, real data over TCP, the real texts.

It imports nothing of the product, and needs Python's standard library only.
"""
