"""Adapters for the `mteb` package (`pip install 'steelyard[mteb]'`).

Our models and tasks in mteb:

>>> import mteb                                                                             # doctest: +SKIP
>>> from steelyard.compat.mteb import as_mteb_model, as_mteb_task                           # doctest: +SKIP
>>> mteb.evaluate(as_mteb_model("dense"), [as_mteb_task("NanoAlmanac/en")], cache=None)     # doctest: +SKIP

Tasks and benchmarks of mteb are evaluated by name: `steelyard run dense -t 'mteb:STSBenchmark'`.
"""

from steelyard.compat.mteb.mteb_models import as_mteb_model
from steelyard.compat.mteb.mteb_tasks import as_mteb_task

__all__ = ["as_mteb_model", "as_mteb_task"]
