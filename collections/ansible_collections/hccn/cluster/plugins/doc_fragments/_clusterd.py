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
      - Address of ClusterD, a name or an IP address, with C(:port) where it is not 8899.
      - Within the cluster that is C(clusterd-grpc-svc.mindx-dl.svc.cluster.local).
    type: str
  tls:
    description:
      - Whether to speak TLS. ClusterD itself has none. Its security guide puts an nginx before it, which also asks for O(client_cert).
      - O(ca_cert) and O(client_cert) imply it.
    type: bool
    default: false
  ca_cert:
    description:
      - File with the CA certificates, in PEM, that the server's certificate is checked by. Without it those of gRPC are taken.
    type: path
  client_cert:
    description:
      - File with the certificate that is shown to the server, in PEM, for mutual TLS.
    type: path
  client_key:
    description:
      - File with the key of O(client_cert), in PEM.
    type: path
  server_name:
    description:
      - The name in the server's certificate, where O(server) is another one.
    type: str
  timeout:
    description:
      - Seconds that a call to ClusterD, or a list of the Kubernetes API with all of its pages, may take.
    type: int
    default: 30
requirements:
  - grpcio 1.51 or newer and protobuf 3.20 or newer, with the Python that runs the module, to talk to ClusterD
  - PyYAML, to read a kubeconfig
notes:
  - Run it on the controller, with C(delegate_to=localhost) and the interpreter of the playbook, or anywhere from where ClusterD can be reached.
  - Proven on a stand-in that was written from ClusterD's sources. Not run with a real ClusterD yet.
"""

    KUBERNETES = r"""
options:
  kubeconfig:
    description:
      - File that says how to reach the Kubernetes API. By default the first of the variable E(KUBECONFIG), then C(~/.kube/config), then the account
        of the pod that this runs in.
      - Tokens, client certificates and credential plugins are understood. Old C(auth-provider) entries and C(proxy-url) are not.
    type: path
  context:
    description:
      - Context of the kubeconfig. By default the current one.
    type: str
"""
