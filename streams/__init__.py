"""The wire and the two hosts: topics, keys, events, and what runs the agents on a log."""
