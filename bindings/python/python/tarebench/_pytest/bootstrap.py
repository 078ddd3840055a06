"""Start of a measuring process; run as a file: `python bootstrap.py READ_FD WRITE_FD`.

It uses the tarebench that it is a part of, also in the base's virtual environment, which may hold another one or none: both sides
must be measured by the same code. Nothing else of this installation becomes visible there.
"""

import importlib.util
import os
import sys


def _use_this_tarebench() -> None:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location(
        "tarebench", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no package tarebench in {package}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["tarebench"] = module
    spec.loader.exec_module(module)
    # pytest would warn that it is too late to rewrite the assertions of this package, and some suites make errors of warnings.
    module.__doc__ = f"{module.__doc__}\nPYTEST_DONT_REWRITE"


def _main() -> int:
    read_fd, write_fd = int(sys.argv[1]), int(sys.argv[2])
    # Programs that tests start must not hold the pipes open.
    for fd in (read_fd, write_fd):
        os.set_inheritable(fd, False)
    # The folder of this file, which Python puts first unless it is told not to.
    if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
        del sys.path[0]
    _use_this_tarebench()
    from tarebench._pytest import worker

    return worker.main(read_fd, write_fd)


if __name__ == "__main__":
    sys.exit(_main())
