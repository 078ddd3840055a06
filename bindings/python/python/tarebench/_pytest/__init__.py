"""The parts of the pytest plugin: see :mod:`tarebench.pytest_plugin`."""
