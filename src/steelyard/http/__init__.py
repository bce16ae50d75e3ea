"""Services over HTTP that embed or rerank: one client with patience, pacing, accounts and care for keys.

`Service` sends JSON and comes back with JSON, whatever happens on the way that can be put right. `in_batches` keeps
several requests under way and hands on each answer as it arrives. Only the standard library is needed.
"""

from __future__ import annotations

from steelyard.http.batches import in_batches
from steelyard.http.service import Refused, Service
from steelyard.http.usage import Usage
from steelyard.options import Options, Traffic

__all__ = ["Options", "Refused", "Service", "Traffic", "Usage", "in_batches"]
