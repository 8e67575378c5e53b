"""Texts to audit with: files, bundled corpora, and simulated populations over them."""
