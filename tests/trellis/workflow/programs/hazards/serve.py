"""The model server: that of dags/experiments/programs, whose answers are curves."""

from nearest import serve

from hazards import Hazards


class Handler(serve.Handler):
    """Answers with the risk, and survival at the horizons."""

    def _named(self, row):
        curve = dict(zip(self.model.times, row[1:].tolist(), strict=True))
        shown = {f"{time:.12g}": curve[time] for time in self.model.horizons}
        return {"risk": float(row[0]), "survival": shown}


serve.Handler, serve.Neighbours = Handler, Hazards
serve.main()
