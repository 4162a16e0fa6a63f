"""Which agents and devices are there, who can reach whom, and who has to be told?"""
