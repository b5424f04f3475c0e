# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Options of all modules that talk to ClusterD, and of those that read Kubernetes."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  server:
    description:
      - Address of ClusterD, a name or an IP address, followed by C(:port) if the port is not 8899.
      - Within the cluster the address is C(clusterd-grpc-svc.mindx-dl.svc.cluster.local).
    type: str
  tls:
    description:
      - Whether to use TLS. ClusterD itself does not support it. Its security guide puts an nginx in front of it, which also requires O(client_cert).
      - O(ca_cert) and O(client_cert) imply it.
    type: bool
    default: false
  ca_cert:
    description:
      - File with the CA certificates, in PEM, to verify the server's certificate with. By default the CA certificates of gRPC are used.
    type: path
  client_cert:
    description:
      - File with the client certificate, in PEM, for mutual TLS.
    type: path
  client_key:
    description:
      - File with the private key of O(client_cert), in PEM.
    type: path
  server_name:
    description:
      - Name in the server's certificate, if it differs from O(server).
    type: str
  timeout:
    description:
      - Timeout in seconds of a call to ClusterD, or of a list request to the Kubernetes API including all of its pages.
    type: int
    default: 30
requirements:
  - grpcio 1.51 or newer and protobuf 3.20 or newer, for the Python interpreter that runs the module, to connect to ClusterD
  - PyYAML, to read a kubeconfig
notes:
  - Run the module on the controller, with C(delegate_to=localhost) and the interpreter of the playbook, or on any host that can reach ClusterD.
  - Tested with a simulated ClusterD that was written from ClusterD's sources. Not tested with a real ClusterD yet.
"""

    KUBERNETES = r"""
options:
  kubeconfig:
    description:
      - Kubeconfig file for the Kubernetes API. By default the first file of the variable E(KUBECONFIG), then C(~/.kube/config), then the service
        account of the pod that the module runs in.
      - Tokens, client certificates and credential plugins are supported. Old C(auth-provider) entries and C(proxy-url) are not.
    type: path
  context:
    description:
      - Context of the kubeconfig. By default the current context.
    type: str
"""
