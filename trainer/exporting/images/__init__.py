"""Images of an export.

convert      decodes, resizes and encodes one image
reading      reads one image's file; warnings about all of them
masks        reads one mask's file
"""
