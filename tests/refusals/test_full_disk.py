"""A disk that is really full, under every verb that writes: one line, nothing half-written, and
what was there before is as it was.
"""

import subprocess
import sys

import pytest

from tests.lab.sweep.test_faults import ROOT, _may_mount

COMMANDS = {
    "fit": "fit lag:1 --heads 1 --no-lower-bound -o curve.svg",
    "build": "build fixed:lags=1 --bias peak --length 8 -o model",
    "train": "train run.yaml -o model",
    "export": "export saved --to torch -o exported",
    "sweep": "sweep plan.yaml --workers 1",
    "reproduce": "reproduce 4b --profile smoke -o out --workers 1",
}
RUN = "memory: exp-4b\nmodel: {attention: dp-free, ffn: none, width: 4}\ntrain: {steps: 3}\n"
NESTED = "".join(f"  {line}\n" for line in RUN.splitlines())
PLAN = f"baseline:\n{NESTED}axes: {{seed: [0, 1]}}\n"
SCRIPT = """
set -e
mount -t tmpfs -o size=2m tmpfs {place}
cd {place}
cp -r {files}/. .
set +e
dd if=/dev/zero of=ballast bs=4096 count=600 status=none 2>/dev/null
find . | sort > {out}/before
{python} -m headcount {command} > {out}/stdout 2> {out}/stderr
echo $? > {out}/code
find . | sort > {out}/after
"""


@pytest.mark.slow
@pytest.mark.skipif(not _may_mount(), reason="this system does not let us mount a small filesystem")
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_full_disk_is_one_line_and_nothing_is_left(verb, tmp_path):
    import jax

    import headcount as hc

    place, files, out = (tmp_path / name for name in ("small", "files", "out"))
    for folder in (place, files, out):
        folder.mkdir()
    (files / "run.yaml").write_text(RUN)
    (files / "plan.yaml").write_text(PLAN)
    hc.save(hc.ModelSpec(width=2, hidden=2).build(jax.random.key(0), dim=1), files / "saved")
    script = SCRIPT.format(
        place=place, files=files, out=out, python=sys.executable, command=COMMANDS[verb]
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert (out / "code").exists(), done.stderr
    said = (out / "stderr").read_text()
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in said
    assert (out / "code").read_text().strip() in ("1", "2"), said
    assert len(errors) == 1, said
    before, after = ((out / name).read_text().split() for name in ("before", "after"))
    # a store and its folder may stand, since what is stored is whole; else nothing is new
    new = [name for name in after if name not in before and "runs.sqlite" not in name]
    assert new in ([], ["./out"]), new
