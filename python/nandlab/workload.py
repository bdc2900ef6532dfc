"""A function for each workload on the list; its keywords are the options of the `[workload.<name>]` table.

>>> import nandlab
>>> nandlab.workload.uniform(requests=1000)
{'uniform': {'requests': 1000}}
"""

from nandlab.listing import attributes

__getattr__, __dir__ = attributes("workloads")
