"""Puffin files, deletion vectors and encrypted streams."""
