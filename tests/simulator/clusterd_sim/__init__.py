"""A stand-in for ClusterD: its gRPC services on a real socket, with separate descriptors."""
