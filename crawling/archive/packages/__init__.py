"""Files for other programs of what is archived. What is in the archive stays there, and is put
together with the stored rest where it is read.
"""
