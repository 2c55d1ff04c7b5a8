"""Folders of training runs, as they are read: by the trainer, reports, players and evaluation."""
