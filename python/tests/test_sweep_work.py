"""What a worker of a sweep does with a point."""

import pickle
import threading

import nandlab
from nandlab.sweeping.work import CHANNELS, Channel, Task, run_task


def test_what_a_process_answers_fits_a_pipe_at_once(monkeypatch, tmp_path):
    """One that is killed has sent all of it or nothing: by POSIX 512 bytes go through a pipe at once."""
    monkeypatch.setitem(CHANNELS, "sweep", Channel(threading.Event(), [], tmp_path))
    experiment = nandlab.Experiment(workload=nandlab.workload.uniform(requests=1000), ftl=nandlab.ftl.page())
    done = run_task(Task(0, experiment, "sweep"))
    assert len(pickle.dumps(done)) <= 512
    assert done.fetched().record == experiment.run().without_speed()
