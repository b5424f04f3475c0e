# Two hosts with two routers between them, in network namespaces that end with this shell: a (this one), r1, r2 and b. "$@" is run on a.
# Packets between 10.9.0.1 of a and b from odd source ports of 50001 to 50031 pass r2, all others r1. b drops packets to 10.9.0.9.
mount -t tmpfs tmpfs /run
route_packets() { # in the current namespace, and answer each of those that expire
    echo 1 >/proc/sys/net/ipv4/ip_forward
    echo 0 >/proc/sys/net/ipv4/icmp_ratelimit
}
address() { # address NAMESPACE DEVICE ADDRESS ...
    ip -n "$1" link set dev "$2" up
    for address in "${@:3}"; do ip -n "$1" addr add "$address" dev "$2"; done
}
routes() { # routes NAMESPACE NUMBER TARGET SOURCE SIDE: from a host by the routers' addresses in the networks NUMBER1 and NUMBER2
    ip -n "$1" route add "$3" via "10.9.${2}1.2" src "$4"
    ip -n "$1" route add "$3" via "10.9.${2}2.2" src "$4" table 2
    for port in $(seq 50001 2 50031); do ip -n "$1" rule add "$5" 10.9.0.1 ipproto udp sport "$port" table 2; done
}
ip netns attach a $$
for name in r1 r2 b; do
    ip netns add $name
    ip netns exec $name bash -euc "$(typeset -f route_packets); route_packets"
done
for router in 1 2; do
    ip link add r$router type veth peer name a netns r$router
    ip -n b link add r$router type veth peer name b netns r$router
    address a r$router 10.9.1$router.1/24
    address r$router a 10.9.1$router.2/24
    address b r$router 10.9.2$router.1/24
    address r$router b 10.9.2$router.2/24
    ip -n r$router route add 10.9.0.0/29 via 10.9.1$router.1
    ip -n r$router route add 10.9.0.8/29 via 10.9.2$router.1
done
address a lo 10.9.0.1/32 10.9.0.3/32
address b lo 10.9.0.8/32
routes a 1 10.9.0.8/29 10.9.0.1 from
routes b 2 10.9.0.0/29 10.9.0.8 to
ip -n b route add blackhole 10.9.0.9
"$@"
