"""Does anything that comes from outside, damaged in any way, make us fail, believe or forget?

Examples follow ACKONCE_SEED; `ACKONCE_FUZZ=long` tries many more of them.
"""
