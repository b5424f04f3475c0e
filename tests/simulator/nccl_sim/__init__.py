"""Stand-in for the programs of nccl-tests: the ranks, the data and the TCP traffic of ``hccl_sim``, the texts of nccl-tests.

It imports nothing of the product, and needs Python's standard library only.
"""
