"""The work process and its machine: cores, memory and signs of life. Also the programs of other
projects on the machine.
"""
