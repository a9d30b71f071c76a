"""The skip index: facts about files kept column by column beside the manifests, so that planning reads little.

Law: the index is a cache. Manifests stay the truth; a lost, damaged or foreign index file never changes a result.
"""
