"""The fault harness: any playbook under any fault, on testbed hosts, judged by what is seen from outside."""
