"""Start-up of the kernels that run the book's notebooks (IPYTHONDIR points here).

After each cell it evaluates the expressions of the checked prose that follows, as tools/prose.py planned, in the
notebook's own namespace, and saves the values when the notebook is through. It also keeps notebooks off the network.
"""


def _record_prose(shell, startup_file):
    import contextlib
    import hashlib
    import io
    import json
    import math
    import os
    from pathlib import Path

    root = Path(startup_file).resolve().parents[4]
    folder = Path(os.environ.get("SCALING_PROSE_DIR") or root / "_build" / "prose")
    if not (folder / "plan.json").exists():
        return
    plans = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    state = {"plan": None, "next": 0, "values": [], "silent": []}

    def value_of(expression):
        import scaling_lib

        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                found = eval(expression, {"sl": scaling_lib, "math": math} | shell.user_ns)
            return {"value": found if isinstance(found, bool | str | int) else float(found)}
        except Exception as error:  # whatever it is, tools/prose.py reports it with its place
            return {"error": f"{type(error).__name__}: {error}"}

    def after_cell(result):
        source = result.info.raw_cell
        if state["next"] == 0:
            name = source.splitlines()[0].removeprefix("# ").split(" · ")[0] if source else ""
            state.update(plan=plans.get(name), name=name)
        plan, at = state["plan"], state["next"]
        if not plan or at >= len(plan["cells"]) or plan["cells"][at] != hashlib.sha256(source.encode()).hexdigest():
            shell.events.unregister("post_run_cell", after_cell)  # not the notebook that was planned
            return
        if at in plan["raises"] and result.success:
            state["silent"].append(at)
        state["values"] += [value_of(text) for after, text in plan["expressions"] if after == at]
        state["next"] += 1
        if state["next"] == len(plan["cells"]):
            path = folder / f"{state['name'].removesuffix('.ipynb')}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            saved = {"fingerprint": plan["fingerprint"], "values": state["values"], "silent": state["silent"]}
            path.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")

    shell.events.register("post_run_cell", after_cell)


def _stay_offline():
    import socket
    import sys

    here = {"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::", socket.gethostname()}

    def guard(event, arguments):
        if event == "socket.getaddrinfo":
            host = arguments[0]
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            host = arguments[1][0]
        else:
            return
        host = host.decode() if isinstance(host, bytes) else host or ""
        if host not in here and not host.startswith("127."):
            raise ConnectionError(f"a notebook of this book needs no network, but asked for {host!r}")

    sys.addaudithook(guard)


_record_prose(get_ipython(), __file__)  # noqa: F821  (IPython's)
_stay_offline()
del _record_prose, _stay_offline
