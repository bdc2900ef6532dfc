"""A function for each write buffer on the list; its keywords are the options of the `[buffer.<name>]` table.

>>> import nandlab
>>> nandlab.buffer.pass_through()
{'pass_through': {}}
"""

from nandlab.listing import attributes

__getattr__, __dir__ = attributes("buffers")
