"""The process pool: order, independence of the number of workers, errors, Ctrl-C."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib.externals.loky.backend import fork_exec as beginning
from joblib.parallel import LokyBackend
from sampling import sampled
from threadpoolctl import threadpool_info

from robotid_sim.errors import OptionError
from robotid_sim.parallel import Interrupted, keep_workers, map_tasks, run_ahead


def singular_value(seed):
    return np.linalg.svd(np.random.default_rng(seed).standard_normal((80, 80)))[1]


def blas_threads(_):
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def pid_of_nested(_):
    return os.getpid(), map_tasks(pid_of, [0, 1], workers=2)


def pid_of(_):
    return os.getpid()


def pid_after(seconds):
    time.sleep(seconds)
    return os.getpid()


def refuse(task):
    if task >= 1:
        raise ValueError(f"task {task}")
    return task


def interrupted_in_two(task):
    if task == 2:
        raise Interrupted(["partial"])
    return task


@pytest.fixture(scope="module")
def in_processes():
    """Values that two workers computed, one start of the pool for all of them."""
    return map_tasks(singular_value, range(5), workers=2)


def test_results_are_ordered_and_do_not_depend_on_the_workers(in_processes):
    here = map_tasks(singular_value, range(5))
    assert [value.tobytes() for value in in_processes] == [value.tobytes() for value in here]


def test_every_task_runs_on_one_blas_thread():
    assert map_tasks(blas_threads, [0]) == [{1}]


def test_tasks_inside_a_worker_run_in_that_worker():
    for pid, nested in map_tasks(pid_of_nested, [0, 1], workers=2):
        assert pid != os.getpid()
        assert nested == [pid, pid]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_error_is_raised_and_no_process_stays(workers):
    with pytest.raises(ValueError, match="task 1"):
        map_tasks(refuse, range(4), workers=workers)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_kept_workers_serve_the_next_call_and_end_with_the_block_or_an_error():
    def served():
        return set(map_tasks(pid_after, [0.3] * 4, workers=2))

    with keep_workers():
        first, second = served(), served()
        with pytest.raises(ValueError, match="task 1"):
            map_tasks(refuse, range(4), workers=2)
        after_error = served()
    assert first & second  # one process may take all tasks before the other has started
    assert len(first | second) <= 2
    assert after_error.isdisjoint(first)
    for pid in first | after_error:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert served().isdisjoint(first | after_error)


def test_progress_rises_to_one():
    seen = []
    map_tasks(refuse, [0, 0, 0, 0], progress=seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_no_task_is_no_work():
    assert map_tasks(refuse, [], workers=3) == []


def test_without_a_worker_is_refused():
    with pytest.raises(OptionError, match="at least 1"):
        map_tasks(refuse, [0], workers=0)


def test_an_interrupted_task_adds_what_it_has_to_the_results():
    with pytest.raises(Interrupted) as caught:
        map_tasks(interrupted_in_two, range(5))
    assert caught.value.results == [0, 1, "partial"]


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_done_and_ends_the_processes(workers):
    each = [value.tobytes() for value in map_tasks(singular_value, range(4))]

    def interrupt(share):
        if share >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        map_tasks(singular_value, range(4), workers=workers, progress=interrupt)
    results = [value.tobytes() for value in caught.value.results]
    assert len(results) >= 2
    # Which tasks end first is the processes' business; their order is not.
    assert results == [value for value in each if value in results]
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_ctrl_c_just_when_a_task_is_handed_out_leaves_no_traceback(monkeypatch, capfd):
    """The thread of the pool learns of the end before it has seen the task; it is busy here."""
    submit = LokyBackend.submit

    def submit_and_dawdle(*args, **kwargs):
        submitted = submit(*args, **kwargs)
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.5)
        return submitted

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(LokyBackend, "submit", submit_and_dawdle)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)  # pytest has its own
    with pytest.raises(Interrupted):
        map_tasks(pid_after, [0.0, 0.1, 0.0, 0.0], workers=2, progress=interrupt)
    assert not multiprocessing.active_children()
    assert capfd.readouterr() == ("", "")
    assert len(map_tasks(pid_of, range(4), workers=2)) == 4


def one_ahead():
    return run_ahead(partial(time.sleep, 60.0), 2)


def four_tasks():
    return map_tasks(pid_after, [60.0] * 4, workers=2)


@pytest.mark.parametrize(
    ("begin", "number"),
    sampled(
        product((one_ahead, four_tasks), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
        (four_tasks, signal.SIGINT),
        mark=pytest.mark.slow,
    ),
)
def test_a_signal_as_processes_begin_waits_and_leaves_no_word(
    monkeypatch, recwarn, capfd, begin, number
):
    """A process has begun and not been told its task; another thread can take the signal."""

    def signalled(*args, **kwargs):
        begun.append(fork_exec(*args, **kwargs))
        os.kill(os.getpid(), number)
        return begun[-1]

    begun: list[int] = []
    fork_exec = beginning.fork_exec
    monkeypatch.setattr(beginning, "fork_exec", signalled)
    done = threading.Event()
    threading.Thread(target=done.wait, daemon=True).start()
    before = signal.signal(number, signal.default_int_handler)
    came = False
    try:
        with keep_workers():
            begin()
    except KeyboardInterrupt:  # which pytest.raises would keep, and all that it holds
        came = True
    finally:
        signal.signal(number, before)
        done.set()
    gc.collect()
    assert came
    assert len(begun) == 2
    assert not any(map(runs, begun))
    assert [str(warning.message) for warning in recwarn] == []
    assert capfd.readouterr() == ("", "")


SLEEPERS = """
import time
import warnings
from functools import partial
from pathlib import Path
from robotid_sim.parallel import Interrupted, map_tasks

def sleep(number):
    Path(__file__).with_name(f"asleep-{number}").touch()
    time.sleep(60.0)

if __name__ == "__main__":
    try:
        map_tasks(sleep, [0, 1], workers=2)
    except Interrupted as interrupt:
        print("interrupted", interrupt.results)
"""


def test_ctrl_c_in_a_terminal_ends_sleeping_workers_without_a_traceback(tmp_path):
    script = tmp_path / "sleepers.py"
    script.write_text(SLEEPERS)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60.0
        while len(list(tmp_path.glob("asleep-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20.0)
    assert time.monotonic() - began < 10.0
    assert out == "interrupted []\n"
    assert "Traceback" not in err


def test_workers_end_without_a_word_with_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "sleepers.py"
    naming = SLEEPERS.replace(".touch()", ".write_text(str(os.getpid()))")
    script.write_text(naming.replace("import time", "import os, time"))
    with subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60.0
        while sum(map(has_text, tmp_path.glob("asleep-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
        workers = [int(path.read_text()) for path in tmp_path.glob("asleep-*")]
        assert len(workers) == 2
        deadline = time.monotonic() + 5.0
        while any(map(runs, workers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(runs, workers))
        assert process.stderr.read() == b""  # until trackers have ended, too


def has_text(path):
    return bool(path.read_text())


def runs(pid):
    """Return whether a process runs; one that nobody waits for has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_backend_chosen_around_the_call_gets_the_tasks():
    with joblib.parallel_config(backend="threading"):
        assert map_tasks(pid_of, [0, 1, 2], workers=2) == [os.getpid()] * 3


def slow_then_wrong(task):
    time.sleep(0.3 if task == 0 else 0.0)
    raise ValueError(f"task {task}")


def test_the_first_error_is_that_of_the_first_task_and_says_where_it_was_raised():
    with pytest.raises(ValueError, match="task 0") as caught:
        map_tasks(slow_then_wrong, [0, 1], workers=2)
    assert "slow_then_wrong" in caught.value.__notes__[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_begun_ahead_gives_its_result_or_its_error_when_asked(workers):
    with keep_workers():
        value, wrong = (
            run_ahead(partial(singular_value, 3), workers),
            run_ahead(partial(refuse, 1), workers),
        )
        meanwhile = map_tasks(singular_value, [4], workers)
        with pytest.raises(ValueError, match="task 1"):
            wrong()
        assert value().tobytes() == singular_value(3).tobytes()
    assert meanwhile[0].tobytes() == singular_value(4).tobytes()


def test_a_task_begun_ahead_runs_beside_this_process():
    with keep_workers():
        began = time.monotonic()
        pid = run_ahead(partial(pid_after, 0.5), 2)
        assert time.monotonic() - began < 0.5
        assert pid() != os.getpid()
    assert run_ahead(os.getpid, 2)() == os.getpid()  # nobody keeps processes


def test_a_task_begun_ahead_whose_result_nobody_wants_ends_without_a_word(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with keep_workers():
            run_ahead(partial(time.sleep, 60.0), 2)
            begun = time.monotonic()
        assert time.monotonic() - begun < 10.0
    assert not multiprocessing.active_children()
    assert capfd.readouterr() == ("", "")


def test_a_task_begun_ahead_runs_here_where_the_processes_have_ended_since():
    with keep_workers():
        ahead = run_ahead(os.getpid, 2)
        with pytest.raises(ValueError, match="task 1"):
            map_tasks(refuse, range(4), workers=2)
        assert ahead() == os.getpid()


def test_processes_that_others_began_outlive_a_block_that_begins_none():
    pool = joblib.externals.loky.get_reusable_executor(max_workers=1, kill_workers=True)
    try:
        pid = pool.submit(os.getpid).result()
        with keep_workers():
            assert map_tasks(pid_of, [0, 1]) == [os.getpid()] * 2
        assert pool.submit(os.getpid).result() == pid
    finally:
        pool.shutdown(kill_workers=True)
