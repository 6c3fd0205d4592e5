"""The rules, a file for each matter; every file in this folder is one (`examination.py`)."""
