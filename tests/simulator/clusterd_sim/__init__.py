"""A stand-in for ClusterD: its gRPC services over a real socket, with descriptors of its own."""
