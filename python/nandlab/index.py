"""A function for each index on the list; its keywords are the options of the `[index.<name>]` table.

>>> import nandlab
>>> nandlab.index.btree(page_bytes=512, pool_bytes="150 KiB")
{'btree': {'page_bytes': 512, 'pool_bytes': '150 KiB'}}
"""

from nandlab.listing import attributes

__getattr__, __dir__ = attributes("indexes")
