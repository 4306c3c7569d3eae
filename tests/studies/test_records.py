"""Finished runs without weights: kept beside a table, and taken in by a store that has lost them."""

import json

from made_runs import TASK, experiment, made_run

from mvl.cli import main
from mvl.studies import execution as go
from mvl.studies.job import folder_of
from mvl.studies.store import held, spent


def test_what_is_kept_is_not_done_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(go, "carry_out", lambda plan, options: print(go.summary(plan, plan.jobs(), {}, None, [])) or {})
    of = experiment()
    first, second, records = tmp_path / "first", tmp_path / "second", tmp_path / "records"
    run = made_run(folder_of(of, first) / "seeds-0", of, [0], 0.4)
    events = [{"event": "began", "time": 0.0}, {"event": "ended", "time": 90.0}]
    run.with_name("seeds-0.clock.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    described = json.loads((run / "run.json").read_text())
    described["data"]["path"] = "/somewhere/else/walk.npz"
    (run / "run.json").write_text(json.dumps(described))
    (run / "value.png").write_bytes(b"a picture")
    made_run(folder_of(of, first) / "seeds-1", of, [1], 0.6, until=20)

    ask = ["sweep", "--tasks", TASK, "--recipes", "gcivl", "--seeds", "2", "--records", str(records)]
    assert main([*ask, "--store", str(first)]) == 0
    assert "keeping 1 finished runs" in capsys.readouterr().out
    kept = sorted(path.relative_to(folder_of(of, records)).as_posix() for path in records.rglob("*") if path.is_file())
    assert kept == ["seeds-0.clock.jsonl", "seeds-0/evaluations.jsonl", "seeds-0/run.json"]
    assert "somewhere" not in (folder_of(of, records) / "seeds-0" / "run.json").read_text()

    assert main([*ask, "--store", str(second)]) == 0
    out = capsys.readouterr().out
    assert "took in 1 finished runs" in out
    assert "1 seeds are done, 1 runs are left to do" in out
    there = held(of, second, None).finished
    assert list(there) == [0]
    assert round(there[0].overall, 6) == 0.4
    assert spent(there[0].run) == 90
    assert main([*ask, "--store", str(second)]) == 0
    assert "took in" not in capsys.readouterr().out
