"""Models that edgeagent knows by name: the catalogue, the store on the disk, and the sources of their files.

Imports neither an engine nor a client of a network: ``pull`` imports the client of the source that is asked.
"""
