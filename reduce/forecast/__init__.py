"""When a metric meets its threshold: trend and season of months of kept hours; and what if."""

from .forecast import Forecast, forecast, plot_forecast
from .whatif import Change, what_if

__all__ = ["Change", "Forecast", "forecast", "plot_forecast", "what_if"]
