"""Leakage audits: evaluation sets against training data, against each other, and each within itself.

`steelyard.audit(...)` calls `audit`, and `load_audit` reads the file that it wrote. `overlap` needs no training data.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from steelyard.audit.audit_file import Audit, load_audit
from steelyard.audit.findings import Match, PartFindings, TaskFindings
from steelyard.audit.leakage import audit
from steelyard.audit.lexical.matcher import Thresholds
from steelyard.audit.overlap import OverlapAudit, overlap
from steelyard.audit.verdict import Rate

__all__ = [
    "Audit",
    "Match",
    "OverlapAudit",
    "PartFindings",
    "Rate",
    "TaskFindings",
    "Thresholds",
    "audit",
    "load_audit",
    "overlap",
]


class _CallableModule(ModuleType):
    """So that `steelyard.audit(...)` works whether or not this package was imported before."""

    def __call__(self, *arguments: Any, **options: Any) -> Audit:
        return audit(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
