"""Probe: fio jobs that tell about a drive's inside, and what their results say.

`jobs` lists and writes the jobs, `simulated` runs them on a simulated drive, `results` reads what fio wrote,
`reads`, `writes` and `spare` estimate the quantities, `found` puts them together, and `judge` draws drives to
try it.
"""
