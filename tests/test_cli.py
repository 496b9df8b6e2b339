"""The command line says what the library says."""

import subprocess
import sys

import pytest

import scaling_lib as sl
from scaling_lib.cli import main


def run(capsys, *argv):
    status = main(argv)
    return status, *capsys.readouterr()


def test_chips_are_listed_from_the_catalogue(capsys):
    status, out, _ = run(capsys, "chips")
    names = [line.split()[0] for line in out.splitlines()[1:]]
    assert status == 0 and names == [c.name for c in sl.chips()]


def test_a_chip_shows_every_figure_with_its_source_and_its_dated_price(capsys):
    status, out, _ = run(capsys, "chip", "tpu-v5e")
    assert status == 0 and all(origin.source in out for origin in sl.chip("tpu-v5e").origins.values())
    assert "1.20 USD per chip and hour (Google Cloud, list price, 2025-02-18)" in out
    assert "USD" not in run(capsys, "chip", "a100")[1]


def test_ridge_points_are_those_of_the_library(capsys):
    _, out, _ = run(capsys, "ridge", "--dtype", "int8")
    v5e = next(line for line in out.splitlines() if line.startswith("TPU v5e"))
    assert f"{sl.ridge_point('tpu-v5e', dtype='int8'):,.1f}" in v5e


def test_a_matmul_is_bounded_on_every_chip_that_can_do_it(capsys):
    _, out, _ = run(capsys, "matmul", "256", "8192", "8192", "--w", "int8")
    assert "34.4 GFLOP, 75.5 MB, 455.1 FLOP/byte, maths in bf16" in out  # 2BD + DF + 2BF = 75.5e6
    v5e = next(line for line in out.splitlines() if line.startswith("tpu-v5e"))
    assert v5e.split()[-2:] == ["math", "127.6"]
    _, out, _ = run(capsys, "matmul", "8", "64", "64", "--x", "fp4")
    assert out.splitlines()[-1].startswith("without a fp4 rate or hbm: tpu-v3")
    assert "none" in run(capsys, "matmul", "8", "64", "64", "--chip", "h100")[1]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["chip", "h10"], "chip 'h10' is unknown: did you mean h100"),
        (["matmul", "0", "8", "8"], "b is zero, got 0.0"),
        (["matmul", "nan", "8", "8"], "b is not a number"),
        (["matmul", "8", "8", "8", "--x", "bf17"], "dtype 'bf17' is unknown: did you mean bf16"),
        (["matmul", "8", "8", "8", "--link", "pcei"], "link 'pcei' is unknown: did you mean pcie"),
        (["matmul", "8", "8", "8", "--chip", "tpu-v5e", "--x", "fp4"], "TPU v5e has no known fp4 rate"),
        (["ridge", "--dtype", "half"], "dtype 'half' is unknown"),
    ],
)
def test_a_wrong_argument_is_explained_and_ends_with_status_2(capsys, argv, says):
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "") and says in err


def test_a_word_for_a_size_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["matmul", "many", "8", "8"])
    assert stop.value.code == 2 and "invalid float value: 'many'" in capsys.readouterr().err


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "scaling_lib.cli", "ridge"], capture_output=True, text=True, check=True
    )
    assert "TPU v5e" in done.stdout


def test_a_reader_who_has_seen_enough_ends_it_quietly():
    command = f"{sys.executable} -m scaling_lib.cli chip h100 | true"
    for _ in range(3):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_operations_on_integers_are_no_floating_point_operations(capsys):
    assert "394 TOP/s" in run(capsys, "chip", "tpu-v5e")[1]
    assert "394 TFLOP/s" not in run(capsys, "chips")[1]
