"""Several agents, sites and devices in one world with cuts between sites: real processes on loopback addresses."""
