# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Options of the modules that call ClusterD or read from Kubernetes."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  server:
    description:
      - Name or IP address of ClusterD, with C(:port) if the port is not 8899.
      - Within the cluster, the name is C(clusterd-grpc-svc.mindx-dl.svc.cluster.local).
    type: str
  tls:
    description:
      - Use TLS. ClusterD has no TLS, but its security guide recommends an nginx in front of it, which also requires O(client_cert).
      - O(ca_cert) and O(client_cert) imply this option.
    type: bool
    default: false
  ca_cert:
    description:
      - File with the CA certificates in PEM that verify the certificate of the server. By default those of gRPC are used.
    type: path
  client_cert:
    description:
      - File with the client certificate in PEM for mutual TLS.
    type: path
  client_key:
    description:
      - File with the key of O(client_cert) in PEM.
    type: path
  server_name:
    description:
      - Name in the certificate of the server, if it differs from O(server).
    type: str
  timeout:
    description:
      - Timeout in seconds of a call to ClusterD, or of a list of the Kubernetes API with all of its pages.
    type: int
    default: 30
requirements:
  - grpcio 1.51 or newer and protobuf 3.20 or newer for the Python that runs the module, to call ClusterD
  - PyYAML, to read a kubeconfig
notes:
  - Run the module on the controller, with C(delegate_to=localhost) and the interpreter of the playbook, or on any host that can reach ClusterD.
  - Tested with exchanges that were recorded with the unmodified ClusterD 7.1.RC1, 7.2.RC1, 7.3.0 and 26.0.1 and a development version of August 2026, with a
    real Kubernetes API and the nginx of the security guide, all on one machine. Not tested with real training or NPUs, nor over a network other than the
    loopback.
  - The nginx before ClusterD needs C(grpc_read_timeout 900s). The C(proxy_read_timeout) of the security guide has no effect on gRPC. After the default of 60 s
    without a message, the nginx ends a stream, which the modules then open again.
"""

    KUBERNETES = r"""
options:
  kubeconfig:
    description:
      - The kubeconfig for the Kubernetes API. By default the first file of the variable E(KUBECONFIG), then C(~/.kube/config), then the service account
        of the pod in which the module runs.
      - Tokens, client certificates and credential plugins are supported. Entries C(auth-provider) are not.
      - A server with https is reached through the HTTP proxy of the entry C(proxy-url), else of the variable E(HTTPS_PROXY) unless E(NO_PROXY) contains the
        server, as with kubectl.
    type: path
  context:
    description:
      - Context of the kubeconfig. By default the current context.
    type: str
"""
