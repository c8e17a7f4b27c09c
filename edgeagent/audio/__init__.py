"""Devices, echo, and playback: sound in and out, without knowing what it says."""
