"""When a metric meets its threshold: trend and season of months of kept hours."""

from .forecast import Forecast, forecast, plot_forecast

__all__ = ["Forecast", "forecast", "plot_forecast"]
