"""Python imports this at its start in every client of local_gcp, by PYTHONPATH.

Two libraries go past the proxy that the environment names, and would call the real hosts:

- aiohttp reads no proxy by default, and with it gcloud-aio and Airflow's deferrable BigQuery
  operators. BIGQUERY_EMULATOR_HOST is no way out: gcloud-aio puts "http://" before it, but
  google-cloud-bigquery, in the same process, does not.
- httplib2 ignores a proxy for https where PySocks is missing. It is refused there.

Nothing else is changed, and nothing but the standard library is needed.
"""

import importlib.machinery
import importlib.util
import sys


def _aiohttp(module):
    module.ClientSession.__init__.__kwdefaults__["trust_env"] = True


def _httplib2(module):
    def isgood(_self):
        raise module.error.ProxiesUnavailableError(
            "local_gcp: without PySocks httplib2 ignores https_proxy and would leave this machine. "
            "Install PySocks."
        )

    if module.socks is None:
        module.ProxyInfo.isgood = isgood


_CHANGES = {"aiohttp.client": _aiohttp, "httplib2": _httplib2}


class _Finder(importlib.machinery.PathFinder):
    """Finds the modules above, and changes them once they are imported."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        """Return a spec for the patched modules; None for every other module."""
        change = _CHANGES.get(fullname)
        spec = super().find_spec(fullname, path, target) if change else None
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                change(module)

            spec.loader.exec_module = exec_module
        return spec


def _run_the_one_behind():
    """Another sitecustomize on the path, which this one hides, is run too."""
    here = __file__.rpartition("/")[0]
    path = [folder for folder in sys.path if folder != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _Finder)
_run_the_one_behind()
