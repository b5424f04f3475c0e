"""The fault matrix: any playbook under any fault on testbed hosts, checked from outside the product."""
