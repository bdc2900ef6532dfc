"""A function for each file system on the list; its keywords are the options of the `[fs.<name>]` table.

>>> import nandlab
>>> nandlab.fs.fat(cluster_bytes="4 KiB", write_through="operation")
{'fat': {'cluster_bytes': '4 KiB', 'write_through': 'operation'}}
"""

from nandlab.listing import attributes

__getattr__, __dir__ = attributes("file_systems")
