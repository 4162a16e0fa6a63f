"""What is to be done on many devices, in which order, when, and what became of it?"""
