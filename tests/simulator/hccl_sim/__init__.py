"""Stand-in for the programs of hccl_test: real ranks under a real mpirun, real data over TCP, and the real texts.

It imports nothing from the product and uses the standard library only.
"""
