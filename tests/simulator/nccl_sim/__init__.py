"""Stand-in for the programs of nccl-tests: the ranks, the data and the TCP traffic of ``hccl_sim`` with the texts of nccl-tests.

It imports nothing from the product and uses the standard library only.
"""
