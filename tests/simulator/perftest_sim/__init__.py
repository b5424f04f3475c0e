"""Stand-in for the bandwidth tests of linux-rdma/perftest: the RDMA devices of a made-up sysfs, the texts and the exit codes of perftest 4.5.

It imports nothing from the product and uses the standard library only.
"""
