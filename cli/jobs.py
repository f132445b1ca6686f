"""Work on several inputs, one after another or side by side."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from maxfold.cli.endpoints import Task
from maxfold.cli.options import OptimizeOptions
from maxfold.cli.progress import Progress
from maxfold.cli.work import Result, attempt


def run_tasks(tasks: Sequence[Task], options: OptimizeOptions, progress: Progress) -> list[Result]:
    """The results in the order of the tasks. One task that fails does not stop the others."""
    workers = min(options.jobs, len(tasks))
    if workers > 1:
        # Not imported for one input: it brings multiprocessing with it.
        from maxfold.cli.pool import run_in_workers

        return run_in_workers(tasks, options, workers, progress)
    results = []
    for index, task in enumerate(tasks, start=1):
        if index > 1:
            # A model is one web of objects, which goes when somebody looks for it.
            gc.collect()
        if len(tasks) > 1:
            progress.begin(f"{index} of {len(tasks)}: ")
        results.append(attempt(task, options, progress))
    return results
