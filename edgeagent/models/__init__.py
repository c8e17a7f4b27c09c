"""Models that edgeagent knows by name: the catalogue, the store on the disk, and the sources of their files.

Imports neither an engine nor a client of a network: ``pull`` imports the client of the source that is asked.
"""

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "bundle": "Bundle Item",
        "catalog": """
            CallGate Entry File LanguageModel PROFILES Package Profile ProfileName Recogniser Voice
            entries language_models nearest read recognisers voices
        """,
        "hub": "ModelHub",
        "index": "PackageIndex",
        "intake": "import_models items_of",
        "pulling": "pull",
        "store": "FOLDER_VARIABLE Pulled find_model is_here paths user_models_dir verify",
    },
)
