"""The work process and its machine: cores, memory and signs of life. Also programs of other
projects that are installed on the machine.
"""
