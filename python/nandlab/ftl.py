"""A function for each FTL on the list; its keywords are the options of the `[ftl.<name>]` table.

>>> import nandlab
>>> nandlab.ftl.page()
{'page': {}}
"""

from nandlab.listing import attributes

__getattr__, __dir__ = attributes("ftls")
